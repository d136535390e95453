"""The trained agents of the package, from the runs of `make results`: `make trained`.

For every entry of benchmarks/results.py one run in runs/results becomes a table in
`tictactoe_env/tables`: the best of its seeds, or seed 0 of an entry that is weak on purpose. Only
certificates that `verify` accepts are taken.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.results import ENTRIES, ROOT, RUNS, Entry
from tictactoe_env.certificate import FILE, read, verify
from tictactoe_env.files import write_file
from tictactoe_env.trained import FOLDER, pack

MOST_BYTES = 300_000  # of all tables together


def best_run(entry: Entry) -> dict[str, Any] | None:
    """The certificate of the best run of an entry; None if it has none."""
    pattern = f"{entry.name}-[0-9]*/{FILE}"
    runs = [read(path) for path in sorted((ROOT / RUNS).glob(pattern))]
    if entry.weak:
        runs = [content for content in runs if content["seed"] == 0]
    return max(runs, key=_strength, default=None)


def _strength(content: Mapping[str, Any]) -> tuple[Any, ...]:
    """The greater the better: who can be beaten, then wins against random play, then the seed."""
    wins = sum(content[side]["vs_random"]["win"] for side in ("as_x", "as_o"))
    unbeatable = sum(content[side]["unbeatable"] for side in ("as_x", "as_o"))
    return unbeatable, content["optimal"], round(wins, 9), -content["seed"]


def table_text(content: Mapping[str, Any]) -> str:
    """The file of a trained agent. Raises CertificateError if its results are not its moves'."""
    verify(content)
    return json.dumps(pack(content), separators=(",", ":"))


def main() -> int:
    """Write the tables; the exit code is 1 if an entry has no run."""
    missing, size = [], 0
    FOLDER.mkdir(exist_ok=True)
    for entry in ENTRIES:
        content = best_run(entry)
        if content is None:
            missing.append(entry.command)
            continue
        data = table_text(content).encode()
        path: Path = FOLDER / f"{entry.name}.json"
        write_file(path, lambda file, data=data: file.write(data))
        size += len(data)
        print(f"{path.relative_to(ROOT)}: seed {content['seed']}, {len(data):,} bytes")
    print(f"{size:,} bytes in all")
    if size > MOST_BYTES:
        raise ValueError(f"the tables must take at most {MOST_BYTES:,} bytes, got {size:,}")
    for command in missing:
        print(f"no run of `{command}` in {RUNS}: run make results first", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
