"""Train an agent: `python train.py maskable_ppo --until unbeatable`; `python train.py --help` lists the agents."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys
import time
import typing
from pathlib import Path
from typing import Any, NoReturn

from agents import TRAINABLE
from tictactoe_env.errors import unknown_name

UNTIL = ("steps", "unbeatable", "optimal")


class Parser(argparse.ArgumentParser):
    """An argument parser that guesses what a misspelt option was meant to be."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:  # type: ignore[override]
        known, rest = self.parse_known_args(args, namespace)
        if rest:
            options = [option for action in self._actions for option in action.option_strings]
            self.error(
                str(unknown_name("option", rest[0].partition("=")[0], options)) if rest[0].startswith("-") else f"unexpected argument {rest[0]!r}"
            )
        return known

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def general_parser() -> Parser:
    agents = "\n".join(f"  {name:<14} {sentence}" for name, sentence in TRAINABLE.items())
    parser = Parser(
        prog="train.py",
        description="Train an agent against a pool of opponents and prove what it has become.",
        epilog=f"agents:\n{agents}\n\npython train.py AGENT --help explains all options of an agent.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="the agent to train; taken from the run with --resume")
    parser.add_argument(
        "--until", choices=UNTIL, default="steps", help="stop when this is proven: steps (never, run to --steps), unbeatable, optimal"
    )
    parser.add_argument("--out", type=Path, metavar="RUN", help="folder to write the run to (default: runs/AGENT-SEED)")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with a run; its configuration is kept, --steps and --until may be new")
    parser.add_argument("--export-sb3", type=Path, metavar="FILE", help="also write the trained model as Stable-Baselines3's own zip")
    parser.add_argument("-h", "--help", action="store_true", help="show this help")
    return parser


def add_config_options(parser: Parser, config_class: Any) -> None:
    """One option for each field of an agent's configuration, with its sentence and its default."""
    group = parser.add_argument_group("configuration")
    types = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):
        name, kind = f"--{field.name.replace('_', '-')}", types[field.name]
        default = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
        text = f"{field.metadata['help']} (default: {default})".replace("%", "%%")
        if kind is bool:
            group.add_argument(name, dest=field.name, action=argparse.BooleanOptionalAction, default=None, help=text)
        else:
            group.add_argument(name, dest=field.name, type=_numbers if kind == tuple[int, ...] else kind, default=None, help=text, metavar="VALUE")


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers separated by commas, such as 128,128, got {text!r}") from None


def new_folder(agent: str, seed: int) -> Path:
    """runs/AGENT-SEED, or with the time behind it if that is taken."""
    folder = Path("runs") / f"{agent}-{seed}"
    return folder if not folder.exists() else folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = general_parser()
    given, _ = parser.parse_known_args(arguments)
    if given.agent is None and given.resume is None:
        parser.print_help()
        return 0 if given.help or not arguments else 2
    saved: dict[str, Any] = {}
    if given.resume is not None:
        from agents.files import read_json

        try:
            saved = read_json(given.resume / "config.json")
        except (OSError, ValueError) as error:
            parser.error(f"--resume needs the folder of a run: {error}")
        if given.agent not in (None, saved["agent"]):
            parser.error(f"{given.resume} is a run of {saved['agent']}, not of {given.agent}")
    agent = saved.get("agent", given.agent)
    if agent not in TRAINABLE:
        parser.error(str(unknown_name("agent", agent, TRAINABLE)))
    page = importlib.import_module(f"agents.{agent}")
    add_config_options(parser, page.Config)
    if given.help:
        parser.print_help()
        return 0
    given = parser.parse_args(arguments)
    chosen = {field.name: getattr(given, field.name) for field in dataclasses.fields(page.Config) if getattr(given, field.name) is not None}
    if saved:
        _refuse_changes(parser, given.resume, chosen, saved["config"])
    try:
        config = page.Config(**{**_with_tuples(page.Config, saved.get("config", {})), **chosen})
        return train(page, agent, config, given)
    except (ValueError, OSError) as error:
        parser.error(str(error))


def _refuse_changes(parser: Parser, folder: Path, chosen: dict[str, Any], config: dict[str, Any]) -> None:
    changed = [name for name, value in chosen.items() if name != "steps" and config.get(name) != (list(value) if isinstance(value, tuple) else value)]
    if changed:
        parser.error(f"{folder} was trained with another {', '.join(changed)}; only --steps and --until may change when a run goes on")


def _with_tuples(config_class: Any, values: dict[str, Any]) -> dict[str, Any]:
    types = typing.get_type_hints(config_class)
    return {name: tuple(value) if types.get(name) == tuple[int, ...] else value for name, value in values.items()}


def train(page: Any, agent: str, config: Any, given: argparse.Namespace) -> int:
    """Train, write the run, and print its certificate."""
    from rich.console import Console

    from agents.runs import Run
    from agents import show
    from tictactoe_env.certificate import read, table_of

    console = Console()
    run = Run(given.resume or given.out or new_folder(agent, config.seed), agent, config, given.until, console)
    if given.resume:
        run.resume()
        if (run.folder / "certificate.json").exists():
            earlier = read(run.folder)
            run.keep_best_of(earlier, table_of(earlier))
    else:
        run.start()
    with run:
        page.train(config, run, resume=run.checkpoint if given.resume else None, logs=run.folder)
    certificate = run.finish()
    show.certificate(certificate, console)
    if given.export_sb3:
        page.export_sb3(run.folder, given.export_sb3)
        console.print(f"Stable-Baselines3's own file: {given.export_sb3}")
    console.print(f"saved: {run.folder}   look: python evaluate.py {run.folder}", highlight=False)
    if run.interrupted or not _goal_reached(run, given.until):
        console.print(f"go on: python train.py --resume {run.folder} --steps {2 * config.steps}", highlight=False)
    if given.until != "steps" and not _goal_reached(run, given.until):
        console.print(f"{given.until} was not reached within {config.steps:,} steps")
        return 1
    return 0


def _goal_reached(run: Any, until: str) -> bool:
    return until != "steps" and until in run.first_reached


if __name__ == "__main__":
    sys.exit(main())
