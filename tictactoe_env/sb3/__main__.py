"""Evaluate a saved model exactly: `python -m tictactoe_env.sb3 model.zip --trust`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import join

from tictactoe_env.certificates.certificate import certify, write
from tictactoe_env.certificates.stated import name_of
from tictactoe_env.errors import in_one_line, printable, run_program
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.proof import Limit
from tictactoe_env.notation import parse_size
from tictactoe_env.opponents import UntrustedModelError
from tictactoe_env.rules import Rules
from tictactoe_env.sb3.saved_model import SavedModel

_PROGRAM = "python -m tictactoe_env.sb3"


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate a model. The exit code: 0, 1 for one that is refused, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Print the exact results of a model that Stable-Baselines3, sb3-contrib or "
        "RL Zoo saved, and whether any opponent can beat it.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    size = "rows, columns and marks in a row (default: those written beside it, or 3x3x3)"
    images = "it learned with symmetric=True, behind a wrapper that hides it"
    statistics = "the statistics of its VecNormalize, or none (default: those beside the model)"
    most = Limit().positions
    larger = f"end a proof of more positions (default: {most}; on 6x7 with gravity none is tried)"
    add("file", type=Path, metavar="FILE", help="the model, such as model.zip")
    add("--trust", action="store_true", help="read it; code in it is executed")
    add("--board", metavar="4x4x3", help=size)
    add("--gravity", action="store_true", help="pieces fall, as in Connect Four")
    add("--symmetric", action="store_true", help=images)
    add("--normalize", metavar="FILE", help=statistics)
    add("--max-positions", type=int, metavar="N", help=larger)
    add("--certificate", type=Path, metavar="FILE", help="also write a certificate of its moves")
    given = in_one_line(parser).parse_args(arguments)
    if not given.trust:
        typed = sys.orig_argv if arguments is None else [*_PROGRAM.split(), *arguments]
        refusal = UntrustedModelError(given.file).text(join([*typed, "--trust"]))
        print(f"{_PROGRAM}: {printable(refusal)}", file=sys.stderr)
        return 1
    try:
        board = given.board and parse_size(given.board)
        model = SavedModel(given.file, given.symmetric or None, given.normalize)
        rules = board or model.board or Rules()
        if given.gravity:
            rules = replace(rules, gravity=True)
        policy = model.policy(rules)
        limit = None if given.max_positions is None else Limit(given.max_positions)
        print(printable(model), flush=True)
        print(evaluate(policy, limit=limit))
        if given.certificate:
            write(certify(policy, name_of(given.file.name), limit=limit), given.certificate)
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        print(f"{_PROGRAM}: {printable(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    run_program(main)
