"""Check certificates: `python -m tictactoe_env.certificates runs/dqn-0 certificate.json`.

Every result is computed again from the moves in the file. Nothing but the package itself is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tictactoe_env.certificates.certificate import VERIFIED, read, verify
from tictactoe_env.errors import printable
from tictactoe_env.exact.proof import ProofLimitError


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
    parser.add_argument(
        "--max-positions",
        type=int,
        default=VERIFIED.positions,
        metavar="N",
        help="refuse a certificate of more positions (default: %(default)s)",
    )
    given = parser.parse_args(arguments)
    limit = VERIFIED._replace(positions=given.max_positions)
    refused = 0
    for path in given.paths:
        try:
            certificate = read(path)
            verify(certificate, limit)
        except (ValueError, OSError) as error:
            how = "; --max-positions sets the limit" * isinstance(error, ProofLimitError)
            print(printable(f"REFUSED: {path}: {error}{how}"), file=sys.stderr)
            refused = 1
        else:
            print(certificate.verified_text(printable(path)))
    return refused


if __name__ == "__main__":
    sys.exit(main())
