"""Attack this project, and tell what does not hold: `python -m attack kills --seconds 600`.

Each campaign has cases that are drawn from the seed. The exit code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from attack.campaign import CAMPAIGNS, Report, found_in

SECONDS = 600.0
SHARES = {"kills": 6, "disk": 2, "files": 4, "stores": 2, "rules": 2, "law": 1, "page": 3}
"""The parts of the time that the campaigns have, in relation to each other."""


def campaign(name: str) -> Any:
    """The module of a campaign."""
    return import_module(f"attack.{name}")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser("python -m attack", description=__doc__.split("\n")[0])
    parser.add_argument("campaign", nargs="*", metavar="CAMPAIGN", help=f"{', '.join(CAMPAIGNS)}")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="for all campaigns together (default: 600)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same cases")
    parser.add_argument(
        "--case", type=int, metavar="N", help="repeat only this case of one campaign"
    )
    parser.add_argument("--list", action="store_true", help="list the campaigns and end")
    parsed = parser.parse_args(given)
    unknown = set(parsed.campaign) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"unknown campaign {min(unknown)!r}: choose from {', '.join(CAMPAIGNS)}")
    if parsed.case is not None and len(parsed.campaign) != 1:
        parser.error("--case N needs the name of one campaign")
    if not 0 < parsed.seconds < float("inf"):
        parser.error("--seconds must be above 0")
    return parsed


def report_of(name: str, parsed: argparse.Namespace, seconds: float, folder: Path) -> Report:
    """The report of one campaign, or of one case of it, in a folder of its own."""
    folder = folder / name
    folder.mkdir()
    if parsed.case is None:
        report: Report = campaign(name).run(seconds, parsed.seed, folder)
        return report
    counts: Counter[str] = Counter()
    found = found_in(name, campaign(name).attack, parsed.seed, parsed.case, folder, counts)
    return Report(1, found, {what: f"{count:,}" for what, count in counts.items()})


def main(given: Sequence[str] | None = None) -> int:
    """Run the campaigns and print a table; 1 if anything was found."""
    parsed, console = arguments(given), Console(highlight=False)
    if parsed.list:
        for name in CAMPAIGNS:
            print(f"{name:8}{(campaign(name).__doc__ or '').splitlines()[0]}")
        return 0
    names = parsed.campaign or CAMPAIGNS
    table = Table("campaign", *(f"[right]{one}" for one in ("cases", "findings", "seconds")), "")
    found, whole = 0, sum(SHARES[name] for name in names)
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        for name in names:
            began, seconds = time.monotonic(), parsed.seconds * SHARES[name] / whole
            if parsed.case is None:
                print(f"{name}: for {seconds:,.0f} s", flush=True)
            report = report_of(name, parsed, seconds, Path(folder))
            for finding in report.findings:
                print(finding, flush=True)
            found += len(report.findings)
            notes = ", ".join(f"{what}: {figure}" for what, figure in report.notes.items())
            spent = f"{time.monotonic() - began:.0f}"
            table.add_row(name, f"{report.cases:,}", str(len(report.findings)), spent, notes)
    console.print(table)
    return int(found > 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
