"""Check certificates: `python -m tictactoe_env.certificates runs/dqn-0 certificate.json`.

Every result is computed again from the moves in the file. Nothing but the package itself is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tictactoe_env.certificates.certificate import (
    certified_sides,
    moves_in,
    read,
    rules_of,
    verify,
    wins_all,
)
from tictactoe_env.errors import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify certificates. The exit code: 0, or 1 if one of them is refused."""
    parser = argparse.ArgumentParser(
        prog="python -m tictactoe_env.certificates",
        description="Compute every result of certificates again from the moves in them, and print "
        "what they prove.",
    )
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="a certificate.json, or the folder of a run"
    )
    paths = parser.parse_args(arguments).paths
    return max([_verified(path) for path in paths])


def _verified(path: str) -> int:
    """Verify one certificate and print what it proves; 0, or 1 if it is refused."""
    try:
        content = read(path)
        verify(content)
    except (ValueError, OSError) as error:
        print(printable(f"{path}: REFUSED: {error}"), file=sys.stderr)
        return 1
    about = f"{printable(content['agent'])}, {moves_in(content):,} positions of {rules_of(content)}"
    print(f"{printable(path)} ({about}): every result follows from the moves")
    for side in certified_sides(content):
        print(f"  as {side}: {_proven(content, side)}")
    return 0


def _proven(content: Mapping[str, Any], side: str) -> str:
    """What is proven of one side."""
    results = content[f"as_{side.lower()}"]
    if wins_all(content, side):
        return "wins against everybody"
    if not results["unbeatable"]:
        return f"can be beaten: {' '.join(results['losing_line'])}"
    return "unbeatable, optimal" if results.get("optimal") else "unbeatable"


if __name__ == "__main__":
    sys.exit(main())
