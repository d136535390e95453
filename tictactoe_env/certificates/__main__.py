"""Check certificates: `python -m tictactoe_env.certificates runs/dqn-0 certificate.json`.

Every result is computed again from the moves in the file. Nothing but the package itself is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tictactoe_env.certificates.certificate import VERIFIED, read, verify
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.errors import in_one_line, printable, run_program
from tictactoe_env.exact.proof import Limit, ProofLimitError


def main(
    arguments: Sequence[str] | None = None, prog: str = "python -m tictactoe_env.certificates"
) -> int:
    """Verify certificates. Returns the exit code, as the help says. prog: the name in errors."""
    parser = argparse.ArgumentParser(
        prog=prog,
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
    parser.add_argument(
        "--max-megabytes",
        type=int,
        default=VERIFIED.megabytes,
        metavar="N",
        help="memory for these positions (default: %(default)s)",
    )
    parser.add_argument(
        "--proven",
        action="store_true",
        help="also ask whether the players can be beaten: the exit code is 0 if none can, as any "
        "side that its certificate states, 3 if one can, and 1 if a certificate is refused",
    )
    given = in_one_line(parser).parse_args(arguments)
    limit = Limit(given.max_positions, given.max_megabytes)
    found = [verified(path, limit) for path in given.paths]
    certificates = [certificate for certificate in found if certificate is not None]
    if len(certificates) < len(found):
        return 1
    is_beaten = any(certificate.unbeatable is False for certificate in certificates)
    return 3 if given.proven and is_beaten else 0


def verified(path: str, limit: Limit) -> Certificate | None:
    """A certificate that is verified, and printed; None for one that is refused."""
    try:
        certificate = read(path)  # its errors name the file
    except (ValueError, OSError) as error:
        refuse(str(error))
        return None
    try:
        verify(certificate, limit)
    except ValueError as error:
        how = ""
        if isinstance(error, ProofLimitError):
            how = "; --max-positions and --max-megabytes set the limit"
        refuse(f"{path}: {error}{how}")
        return None
    print(
        f"{certificate.claim}\nverified: {printable(path)} ({certificate.stated.agent}), "
        f"{certificate.decisions:,} positions: every result follows from the moves; name, seed, "
        "configuration and times cannot be verified"
    )
    return certificate


def refuse(why: str) -> None:
    """Print why a certificate is refused."""
    print(printable(f"REFUSED: {why}"), file=sys.stderr)


if __name__ == "__main__":
    run_program(main)
