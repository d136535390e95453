"""Train an agent: `python train.py maskable_ppo --until unbeatable`; --help lists the agents."""

from __future__ import annotations

import shlex
import sys
import textwrap
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import agents
from agents import TRAINABLE
from tictactoe_env.errors import unknown_name
from tictactoe_env.evaluation import UNTIL
from training.command_line import CommandLine, Option, one_of
from training.options import BoardConfig, options_of, read_config

GENERAL = [
    Option(
        "until",
        "stop when this is proven: unbeatable, or optimal (the best achievable); steps: do not "
        "stop before --steps",
        one_of(*UNTIL),
        "steps",
        metavar="|".join(UNTIL),
    ),
    Option(
        "preset",
        "use the options of this preset (AGENT --help lists the presets); options that are given "
        "override them",
        metavar="NAME",
    ),
    Option(
        "out",
        "folder of the run (default: runs/AGENT-SEED or runs/AGENT-PRESET-SEED, followed by the "
        "time if that exists)",
        Path,
        metavar="RUN",
    ),
    Option(
        "resume",
        "continue a run with its configuration; only --steps may change, and --until has to be "
        "given again; a trie also takes in the games played with it, and those of --learn-from",
        Path,
        metavar="RUN",
    ),
    Option(
        "export_sb3",
        "also write the trained model as Stable-Baselines3's own zip",
        Path,
        metavar="FILE",
    ),
]
AGENT = Option("agent", "the agent to train; taken from the run with --resume", kind="argument")
USAGE = "train.py AGENT [options], or train.py --resume RUN [options]"
ABOUT = "Train an agent against a pool of opponents, and prove how well it plays."


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    more = "python train.py AGENT --help lists the options of an agent."
    epilog = f"agents:\n{listed(TRAINABLE)}\n\n{more}"
    general = CommandLine("train.py", [AGENT, *GENERAL], USAGE, ABOUT, epilog)
    given, rest = general.parse_known(arguments)  # the other options depend on the agent
    agent = rest[0] if rest and not rest[0].startswith("-") else None
    if agent is None and "resume" not in given:
        if arguments and "--help" not in rest and "-h" not in rest:
            known = ", ".join(TRAINABLE)
            asked = shlex.join(arguments)
            general.error(f"name the agent first: train.py AGENT {asked} (known: {known})")
        general.print_help()
        return 0
    line = general
    try:
        saved = saved_config(given["resume"]) if "resume" in given else {}
        page: Any = agents.page(agent_of(agent, saved, given.get("resume")))
        line = command_line(page)
        typed = line.parse(arguments)
        config, preset = configuration(page, typed, saved)
        return train(page, config, preset, SimpleNamespace(**{**line.defaults, **typed}))
    except (ValueError, OSError) as error:
        line.error(str(error))
    except KeyboardInterrupt:
        print("train.py: ended at once, before anything was saved", file=sys.stderr)
        return 130


def command_line(page: Any) -> CommandLine:
    """The command line of an agent: the general options, and the fields of its Config."""
    options = [
        Option(
            known.name,
            known.sentence,
            known.parsed,
            known.default,
            kind="switch" if known.kind is bool else "value",
            metavar=known.metavar,
            bound="" if "|" in known.metavar else known.bound,
            group="Configuration",
        )
        for known in options_of(page.Config)
    ]
    presets = {
        name: preset.sentence + (" (weak on purpose)" if preset.weak else "")
        for name, preset in page.PRESETS.items()
    }
    epilog = f"{page.AGENT} has no presets."
    if presets:
        epilog = f"presets of {page.AGENT}:\n{listed(presets)}"
    return CommandLine("train.py", [AGENT, *GENERAL, *options], USAGE, ABOUT, epilog)


def listed(sentences: Mapping[str, str]) -> str:
    """Names with their sentences, one below the other, at most 80 columns wide."""
    width = max(map(len, sentences)) + 4
    return "\n".join(
        textwrap.fill(
            sentence,
            80,
            initial_indent=f"  {name}".ljust(width),
            subsequent_indent=" " * width,
        )
        for name, sentence in sentences.items()
    )


def agent_of(name: str | None, saved: dict[str, Any], run: Path | None) -> str:
    """The agent that is named or saved. Raises ValueError if these differ or it is unknown."""
    agent = saved.get("agent", name)
    if name not in (None, agent):
        raise ValueError(f"{run} is a run of {agent}, not of {name}")
    if agent not in TRAINABLE:
        raise unknown_name("agent", agent, TRAINABLE)
    return agent


def saved_config(folder: Path) -> dict[str, Any]:
    """The content of a run's config.json: agent, config, versions. ValueError for another file."""
    from training.files import read_json

    saved = read_json(folder / "config.json")
    is_run = isinstance(saved, dict) and isinstance(saved.get("agent"), str)
    if not is_run or not isinstance(saved.get("config"), dict):
        raise ValueError(
            f"{folder / 'config.json'} is not the configuration of a run: --resume needs the "
            "folder of a run"
        )
    return saved


def configuration(
    page: Any, typed: dict[str, Any], saved: dict[str, Any]
) -> tuple[BoardConfig, str | None]:
    """The configuration and the name of its preset, from the options or from a resumed run."""
    names = {known.name for known in options_of(page.Config)}
    chosen = {name: value for name, value in typed.items() if name in names}
    preset = typed.get("preset")
    if saved:
        return resumed(page, chosen, typed, saved), saved.get("preset")
    if preset is not None and preset not in page.PRESETS:
        if not page.PRESETS:
            raise ValueError(f"{page.AGENT} has no presets: leave --preset {preset} out")
        raise unknown_name(f"preset of {page.AGENT}", preset, page.PRESETS)
    options = page.PRESETS[preset].options if preset else {}
    return page.Config(**{**options, **chosen}), preset


def resumed(
    page: Any, chosen: dict[str, Any], typed: dict[str, Any], saved: dict[str, Any]
) -> BoardConfig:
    """The configuration of a resumed run. Raises ValueError if more than `steps` would change."""
    folder = typed["resume"]
    if typed.get("preset") not in (None, saved.get("preset")):
        raise ValueError(f"{folder} continues with its own configuration: leave --preset out")
    if "out" in typed:
        raise ValueError(f"--resume continues in {folder} itself: leave --out out")
    before = read_config(page.Config, saved["config"], folder / "config.json")
    chosen = {name: value for name, value in chosen.items() if name != "learn_from"}  # more games
    changed = [name for name, value in chosen.items() if value != getattr(before, name)]
    if set(changed) - {"steps"}:
        raise ValueError(
            f"{folder} was trained with another {', '.join(changed)}; only --steps and --until may "
            "change in a resumed run"
        )
    return read_config(page.Config, {**saved["config"], **chosen}, folder / "config.json")


def new_folder(name: str, seed: int) -> Path:
    """runs/NAME-SEED, followed by the time if that exists."""
    folder = Path("runs") / f"{name}-{seed}"
    if not folder.exists():
        return folder
    return folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")


def train(page: Any, config: BoardConfig, preset: str | None, given: SimpleNamespace) -> int:
    """Train, write the run, and print its certificate; the exit code."""
    from rich.console import Console

    from terminal import battle, report
    from training import checkpoint
    from training.learner import drive
    from training.run import Run

    if given.export_sb3 and not hasattr(page, "export_sb3"):
        raise ValueError(
            f"{page.AGENT} does not use Stable-Baselines3, so there is nothing to export: "
            "leave --export-sb3 out"
        )
    console = Console()
    name = f"{page.AGENT}-{preset}" if preset else page.AGENT
    folder = given.resume or given.out or new_folder(name, config.seed)
    run = Run(folder, page, config, given.until, console, preset)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: report.say(
            f"warning: {message}", console, "yellow"
        )
        learner = page.begin(config)
        if given.resume:
            counts = run.resume(learner, getattr(given, "learn_from", ""))
            if counts:
                report.say(learned_text(counts), console)
        else:
            run.start()
        try:
            with run:
                drive(learner, config, run.evaluate)
        except KeyboardInterrupt:
            if not run.checkpoint.exists():
                raise
            hint = shlex.join(["python", "train.py", "--resume", str(folder)])
            print(f"train.py: ended at once; continue with: {hint}", file=sys.stderr)
            return 130
    report.certificate(run.finish(), console)
    battle.example_of(run.best_player, run.side, run.name, console)
    if given.export_sb3:
        page.export_sb3(*checkpoint.load_model(page, folder), given.export_sb3)
        report.say(f"Stable-Baselines3's own file: {given.export_sb3}", console)
    report.say(
        f"saved: {folder}   look: {shlex.join(['python', 'evaluate.py', str(folder)])}", console
    )
    return verdict(run, given.until, lambda text: report.say(text, console))


def learned_text(counts: Mapping[str, int]) -> str:
    """The games that a resumed run has taken in, and those left out."""
    reasons = [f"{count:,} {reason}" for reason, count in counts.items() if reason != "learned"]
    learned = counts.get("learned", 0)
    text = f"took in {learned:,} {'game' if learned == 1 else 'games'}"
    return f"{text}, left out {', '.join(reasons)}" if reasons else text


def verdict(run: Any, until: str, say: Any) -> int:
    """Print how to continue if the goal was not reached; the exit code."""
    if until in run.first_reached:
        return 0
    steps = run.rows[-1]["steps"]
    command = ["python", "train.py", "--resume", str(run.folder)]
    if steps >= run.config.steps:  # a round may end beyond the steps that were asked for
        command += ["--steps", str(2 * steps or 1_000)]
    if until != "steps":
        command += ["--until", until]
    say(f"continue with: {shlex.join(command)}")
    if until == "steps":
        return 0
    say(f"{until} was not reached within {steps:,} steps")
    return 1


if __name__ == "__main__":
    sys.exit(main())
