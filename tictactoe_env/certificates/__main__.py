"""Check certificates: `python -m tictactoe_env.certificates runs/dqn-0 certificate.json`.

Every result is computed again from the moves in the file. Nothing but the package itself is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tictactoe_env.certificates.certificate import VERIFIED, read, verify
from tictactoe_env.certificates.content import PROVEN_HELP, Certificate, exit_code
from tictactoe_env.errors import printable
from tictactoe_env.exact.proof import ProofLimitError


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify certificates. Returns the exit code, see `exit_code`."""
    parser = argparse.ArgumentParser(
        prog="python -m tictactoe_env.certificates",
        description="Compute every result of certificates again from the moves in them, and print "
        "what they prove. The exit code is 0, or 1 if a certificate is refused.",
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
    parser.add_argument("--proven", action="store_true", help=PROVEN_HELP)
    given = parser.parse_args(arguments)
    limit = VERIFIED._replace(positions=given.max_positions)
    found: list[Certificate | None] = []
    for path in given.paths:
        try:
            certificate = read(path)
            verify(certificate, limit)
        except (ValueError, OSError) as error:
            how = "; --max-positions sets the limit" * isinstance(error, ProofLimitError)
            print(printable(f"REFUSED: {path}: {error}{how}"), file=sys.stderr)
            found.append(None)
        else:
            print(certificate.verified_text(printable(path)))
            found.append(certificate)
    return exit_code(found, given.proven)


if __name__ == "__main__":
    sys.exit(main())
