"""Train an agent: `python train.py maskable_ppo --until unbeatable`; `python train.py --help` lists the agents."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
import time
import typing
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agents
from agents import TRAINABLE
from tictactoe_env.certificate import check_board
from tictactoe_env.errors import unknown_name
from training.command_line import Parser
from training.evaluation import UNTIL

if TYPE_CHECKING:
    from training.options import Preset


def general_parser() -> Parser:
    agents = "\n".join(f"  {name:<14} {sentence}" for name, sentence in TRAINABLE.items())
    parser = Parser(
        prog="train.py",
        usage="train.py AGENT [options], or train.py --resume RUN [options]",
        description="Train an agent against a pool of opponents and prove what it has become.",
        epilog=f"agents:\n{agents}\n\npython train.py AGENT --help explains all options of an agent.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument(
        "--until",
        choices=UNTIL,
        default="steps",
        help="stop when this is proven: steps (never, run to --steps), unbeatable, optimal",
    )
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="take options that belong together (AGENT --help lists them); other options win",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="RUN",
        help="folder of the run (default: runs/AGENT-SEED or runs/AGENT-PRESET-SEED; the time follows if that is taken)",
    )
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="RUN",
        help="go on with a run and its configuration; --steps may be new, --until is given anew",
    )
    parser.add_argument(
        "--export-sb3",
        type=Path,
        metavar="FILE",
        help="also write the trained model as Stable-Baselines3's own zip",
    )
    parser.add_argument("-h", "--help", action="store_true", help="show this help")
    return parser


def add_config_options(parser: Parser, config_class: Any) -> None:
    """One option for each field of an agent's configuration, with its sentence and its default."""
    group = parser.add_argument_group("configuration")
    types = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):
        name, kind = f"--{field.name.replace('_', '-')}", types[field.name]
        default = (
            ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
        )
        text = f"{field.metadata['help']} (default: {default})".replace("%", "%%")
        if kind is bool:
            group.add_argument(
                name,
                dest=field.name,
                action=argparse.BooleanOptionalAction,
                default=None,
                help=text,
            )
        else:
            group.add_argument(
                name,
                dest=field.name,
                type=_NUMBERS.get(kind, kind),
                default=None,
                help=text,
                metavar="VALUE",
            )


def _numbers(kind: type, what: str, example: str) -> Callable[[str], tuple[Any, ...]]:
    """Reads numbers of a kind, separated by commas."""

    def read(text: str) -> tuple[Any, ...]:
        try:
            return tuple(kind(part) for part in text.split(",") if part.strip())
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"expected {what} separated by commas, such as {example}, got {text!r}"
            ) from None

    return read


_NUMBERS = {
    tuple[int, ...]: _numbers(int, "whole numbers", "128,128"),
    tuple[float, ...]: _numbers(float, "numbers", "0.5,0.1"),
}


def new_folder(agent: str, seed: int) -> Path:
    """runs/AGENT-SEED or runs/AGENT-PRESET-SEED, or with the time behind it if that is taken."""
    folder = Path("runs") / f"{agent}-{seed}"
    return (
        folder
        if not folder.exists()
        else folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")
    )


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = general_parser()
    given, rest = parser.parse_known_args(
        arguments
    )  # the agent decides which other options there are
    agent = rest[0] if rest and not rest[0].startswith("-") else None
    parser.add_argument(
        "agent",
        nargs="?",
        metavar="AGENT",
        help="the agent to train; taken from the run with --resume",
    )
    if agent is None and given.resume is None:
        if arguments and not given.help:
            parser.error(
                f"name the agent first: train.py AGENT {shlex.join(arguments)} (known: {', '.join(TRAINABLE)})"
            )
        parser.print_help()
        return 0
    try:
        saved = {} if given.resume is None else saved_config(given.resume)
        agent = _agent(agent, given, saved)
        page: Any = agents.page(agent)
        add_config_options(parser, page.Config)
        presets: dict[str, Preset] = getattr(page, "PRESETS", {})
        parser.epilog = presets_text(agent, presets)
        if given.help:
            parser.print_help()
            return 0
        given = parser.parse_args(arguments)
        if given.export_sb3 and not hasattr(page, "export_sb3"):
            raise ValueError(
                f"{agent} is not made with Stable-Baselines3, so there is nothing to export: leave --export-sb3 out"
            )
        preset = _preset(agent, given, presets, saved)
        config = _config(
            page.Config,
            given,
            saved.get("config", {}),
            presets[preset].options if preset and not saved else {},
        )
        check_board(config.rules)
        return train(page, config, given, preset)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        parser.exit(
            130, f"{parser.prog}: ended at once; --resume goes on from the last checkpoint\n"
        )


def saved_config(folder: Path) -> dict[str, Any]:
    """What config.json of a run holds: agent, config, versions. ValueError if that is no run."""
    from training.files import read_json

    saved = read_json(folder / "config.json")
    if (
        not isinstance(saved, dict)
        or not isinstance(saved.get("agent"), str)
        or not isinstance(saved.get("config"), dict)
    ):
        raise ValueError(
            f"{folder / 'config.json'} is not the configuration of a run: --resume needs the folder of a run"
        )
    return saved


def _agent(name: str | None, given: argparse.Namespace, saved: dict[str, Any]) -> str:
    """The agent that is named or saved; ValueError if these differ or it is unknown."""
    agent = saved.get("agent", name)
    if name not in (None, agent):
        raise ValueError(f"{given.resume} is a run of {agent}, not of {name}")
    if agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    return agent


def presets_text(agent: str, presets: dict[str, Preset]) -> str:
    """What `AGENT --help` says of the agent's presets."""
    lines = [
        f"  {name:<16} {preset.sentence}{' (weak on purpose)' if preset.weak else ''}"
        for name, preset in presets.items()
    ]
    return "\n".join([f"presets of {agent}:", *lines]) if presets else f"{agent} has no presets."


def _preset(
    agent: str, given: argparse.Namespace, presets: dict[str, Preset], saved: dict[str, Any]
) -> str | None:
    """The name of the preset that is asked for, or with which a run was begun; ValueError if there is none of this name."""
    if given.resume is not None:
        if given.preset not in (None, saved.get("preset")):
            raise ValueError(
                f"{given.resume} goes on with its own configuration: leave --preset out"
            )
        return saved.get("preset")
    if given.preset is not None and given.preset not in presets:
        if not presets:
            raise ValueError(f"{agent} has no presets: leave --preset {given.preset} out")
        raise unknown_name(f"preset of {agent}", given.preset, presets)
    return given.preset


def _config(
    config_class: Any, given: argparse.Namespace, saved: dict[str, Any], preset: Mapping[str, Any]
) -> Any:
    """The configuration of the options and the preset, or that of a run in which only `steps` may change."""
    names = [field.name for field in dataclasses.fields(config_class)]
    types = typing.get_type_hints(config_class)
    chosen = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    if given.resume is None:
        return config_class(**{**preset, **chosen})
    if given.out is not None:
        raise ValueError(f"--resume goes on in {given.resume} itself: leave --out out")
    unknown = [name for name in saved if name not in names]
    if unknown:
        raise ValueError(
            f"{given.resume} was written by another version: unknown configuration {', '.join(unknown)}"
        )
    saved = {
        name: tuple(value) if types[name] in _NUMBERS and isinstance(value, list) else value
        for name, value in saved.items()
    }
    changed = [
        name for name, value in chosen.items() if name != "steps" and value != saved.get(name)
    ]
    if changed:
        raise ValueError(
            f"{given.resume} was trained with another {', '.join(changed)}; only --steps and --until may change when a run goes on"
        )
    try:
        return config_class(**{**saved, **chosen})
    except TypeError as error:
        raise ValueError(f"{given.resume / 'config.json'} is damaged: {error}") from None


def train(page: Any, config: Any, given: argparse.Namespace, preset: str | None) -> int:
    """Train, write the run, and print its certificate."""
    from rich.console import Console

    from terminal import battle, report
    from training import checkpoint
    from training.learner import drive
    from training.run import Run

    console = Console()
    learner = page.begin(config)
    name = f"{page.AGENT}-{preset}" if preset else page.AGENT
    folder = given.resume or given.out or new_folder(name, config.seed)
    run = Run(folder, page, config, given.until, console, preset)
    if given.resume:
        run.resume(learner)
    else:
        run.start()
    with run, warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: report.say(
            f"warning: {message}", console, "yellow"
        )
        drive(learner, config, run.evaluate)
    report.certificate(run.finish(), console)
    battle.example_of(run.best_player, run.side, run.name, console)
    if given.export_sb3:
        page.export_sb3(*checkpoint.load_model(page, folder), given.export_sb3)
        report.say(f"Stable-Baselines3's own file: {given.export_sb3}", console)
    report.say(
        f"saved: {run.folder}   look: {shlex.join(['python', 'evaluate.py', str(run.folder)])}",
        console,
    )
    reached, steps = given.until in run.first_reached, run.rows[-1]["steps"]
    if not reached:
        further = (
            [] if steps < config.steps else ["--steps", str(2 * steps or 1_000)]
        )  # a trainer may make more steps than it was asked for
        until = [] if given.until == "steps" else ["--until", given.until]
        report.say(
            f"go on: {shlex.join(['python', 'train.py', '--resume', str(run.folder), *further, *until])}",
            console,
        )
    if given.until != "steps" and not reached:
        report.say(f"{given.until} was not reached within {steps:,} steps", console)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
