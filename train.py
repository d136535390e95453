"""Train an agent: `python train.py maskable_ppo --until unbeatable`; --help lists the agents.

`python train.py dqn --rival maskable_ppo` trains two learners against each other.
"""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from apps.terminal.installed import OF_EVERY_RUN, explained, require

with explained("train.py", "train"):
    import agents
    from agents import TRAINABLE
    from apps.terminal.command_line import CommandLine, Option, with_size
    from apps.terminal.study_table import parse_seeds
    from tictactoe_env.errors import unknown_name
    from tictactoe_env.exact.evaluation import UNTIL
    from tictactoe_env.exact.positions import TABULATED
    from tictactoe_env.notation import parse_size
    from tictactoe_env.opponents import parse_pool, split_options
    from training.cluster import cluster_address
    from training.options import (
        BoardConfig,
        Count,
        check_unchanged,
        options_of,
        read_config,
    )
    from training.selfplay import RIVAL

GENERAL = [
    Option(
        "until",
        "stop when this is proven: unbeatable, or optimal (no player that never loses wins more "
        "often against random play); steps: do not stop before --steps",
        Literal[UNTIL],
        "steps",
    ),
    Option(
        "preset",
        "use the options of this preset (AGENT --help lists the presets); options that are given "
        "override them",
        metavar="NAME",
    ),
    Option(
        "board",
        "rows, columns and marks in a row of the board, in place of --rows, --cols and --k",
        parse_size,
        metavar="3x4x3",
    ),
    Option(
        "out",
        "folder of the run (default: runs/AGENT-SEED or runs/AGENT-PRESET-SEED, followed by the "
        "time if that exists)",
        Path,
        metavar="RUN",
    ),
    Option(
        "rival",
        "train a second learner too, each against snapshots of the other: an agent that learns "
        "from snapshots and its options, such as 'dqn --hidden 64'; by default it has the next "
        "seed and the other --side; its run is RUN-rival",
        metavar="'AGENT ...'",
    ),
    Option(
        "resume",
        "continue a run; only --steps may change, and --until has to be given again; a trie also "
        "takes in the games played with it, and those of --learn-from",
        Path,
        metavar="RUN",
    ),
    Option(
        "optimize",
        "search the agent's options with Optuna, in this many trials in all, and print the best "
        "with its command line; options that are given are fixed; the same command continues the "
        "search in the folder --out (default: runs/AGENT-optimize-SEED)",
        Count,
    ),
    Option(
        "seeds_per_trial",
        "with --optimize: seeds that each trial trains, from --seed on; its score is their mean",
        Count,
        3,
    ),
    Option(
        "export_sb3",
        "also write the model as a zip of Stable-Baselines3: for MaskablePPO.load of sb3_contrib "
        "(maskable_ppo) or MaskableDQN.load of tictactoe_env.sb3 (dqn)",
        Path,
        metavar="FILE",
    ),
    Option(
        "seeds",
        "train a study: a run for each of these seeds, such as 0-99 or 0-4,7, in the folder --out "
        "(default: runs/AGENT-study), and a table over them; the same command continues it",
        parse_seeds,
        metavar="SEEDS",
    ),
    Option(
        "jobs",
        "of a study: runs that are trained at a time (default: one for each core, or worker)",
        Count,
    ),
    Option(
        "cluster",
        "of a study: train on this cluster, dask://HOST:PORT or ray://HOST:PORT",
        cluster_address,
        metavar="ADDRESS",
    ),
]
ALONE = {
    "resume": ("preset", "rival", "out"),
    "seeds": ("seed", "resume", "rival", "export_sb3"),
    "optimize": ("resume", "rival", "export_sb3", "seeds"),
}
"""The options that an option goes without."""
NEEDED = {"jobs": "seeds", "cluster": "seeds", "seeds_per_trial": "optimize"}
"""The option that an option is for."""
AGENT = Option("agent", "the agent to train; taken from the run with --resume", kind="argument")
USAGE = "train.py AGENT [options], or train.py --resume RUN [options]"
ABOUT = "Train an agent against a pool of opponents, and prove how well it plays."


@explained("train.py", "train")
def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    more = "train.py AGENT --help lists the options of an agent."
    epilog = f"agents:\n{listed(TRAINABLE)}\n\n{more}"
    line = CommandLine("train.py", [AGENT, *GENERAL], USAGE, ABOUT, epilog)
    if not arguments or arguments[0] in ("--help", "-h"):
        line.print_help()
        return 0
    try:
        page: Any = agents.page(agent_of(arguments))
        line = command_line(page)
        typed = with_size(line.parse(arguments))
        check_together(typed)
        require(*OF_EVERY_RUN)
        saved = saved_config(typed["resume"]) if "resume" in typed else {}
        if saved and saved["agent"] != page.AGENT:
            raise ValueError(f"{typed['resume']} is a run of {saved['agent']}, not of {page.AGENT}")
        if "optimize" in typed:
            return optimize(page, typed)
        given = SimpleNamespace(**{**line.defaults, **typed})
        if "rival" in typed or "rival" in saved:
            return train_rivals(rival_entries(page, typed, saved), given)
        entry = entry_of(page, typed, saved)
        refuse_half_of_rivals(entry, saved, given)
        return train_study(entry, given) if given.seeds else train(entry, given)
    except (ValueError, OSError) as error:
        line.error(str(error))
    except MemoryError:
        line.error("there is not enough memory for this training: choose smaller options")
    except KeyboardInterrupt:
        print("train.py: ended at once, before anything was saved", file=sys.stderr)
        return 130


def agent_of(arguments: list[str]) -> str:
    """The agent whose options follow: the first word, or the agent of the run in --resume RUN."""
    first, _, run = arguments[0].partition("=")
    if first == "--resume":
        return str(saved_config(Path(run or "".join(arguments[1:2])))["agent"])
    if first.startswith("-"):
        asked = shlex.join(arguments)
        raise ValueError(f"name the agent first: train.py AGENT {asked} ({', '.join(TRAINABLE)})")
    return first


def check_together(typed: Mapping[str, Any]) -> None:
    """Raise ValueError for options that exclude each other, or that lack the one they are for."""
    spelled = {name: f"--{name.replace('_', '-')}" for name in (*typed, *NEEDED.values())}
    for name in typed:
        for other in ALONE.get(name, ()):
            if other in typed:
                raise ValueError(f"{spelled[name]} goes without {spelled[other]}: leave one out")
        if name in NEEDED and NEEDED[name] not in typed:
            raise ValueError(f"{spelled[name]} is for {spelled[NEEDED[name]]}: give that too")


def command_line(page: Any, prog: str = "train.py") -> CommandLine:
    """The command line of an agent: the general options, and the fields of its Config."""
    options = [
        Option(
            name,
            known.description or "",
            known.rebuild_annotation(),
            known.default,
            kind="switch" if known.annotation is bool else "value",
            group="Configuration",
        )
        for name, known in options_of(page.Config).items()
    ]
    presets = {
        name: preset.sentence + (" (a copy, weaknesses included)" if preset.weak else "")
        for name, preset in agents.presets(page.AGENT).items()
    }
    epilog = f"{page.AGENT} has no presets."
    if presets:
        epilog = f"presets of {page.AGENT}:\n{listed(presets)}"
    cells = page.Config.CELLS
    size = f"of at most {cells} cells" if cells <= TABULATED else "of any size"
    epilog += f"\n\nboards of {page.AGENT}: {size}"
    return CommandLine(prog, [AGENT, *GENERAL, *options], USAGE, ABOUT, epilog)


def listed(sentences: Mapping[str, str]) -> str:
    """Names with their sentences, one below the other, at most 80 columns wide."""
    width = max(map(len, sentences)) + 4
    return "\n".join(
        textwrap.fill(
            sentence,
            80,
            initial_indent=f"  {name}".ljust(width),
            subsequent_indent=" " * width,
            break_on_hyphens=False,
        )
        for name, sentence in sentences.items()
    )


def saved_config(folder: Path) -> dict[str, Any]:
    """The content of a run's config.json: agent, config, versions. DamagedFileError for another."""
    from training.run import read_config_file

    return read_config_file(folder)


class Entry(NamedTuple):
    """What is trained: the page of an agent, its configuration, and the name of its preset."""

    page: Any
    config: Any
    preset: str | None

    @property
    def name(self) -> str:
        """The name of the agent, followed by that of the preset if there is one."""
        return f"{self.page.AGENT}-{self.preset}" if self.preset else str(self.page.AGENT)


def entry_of(page: Any, typed: Mapping[str, Any], saved: dict[str, Any], **defaults: Any) -> Entry:
    """What is trained, from the options or from a resumed run.

    defaults: options that apply where neither the command line nor the preset gives another value.
    """
    known = options_of(page.Config)
    chosen = {name: value for name, value in typed.items() if name in known}
    preset = typed.get("preset")
    if saved:
        config = resumed(page, chosen, typed["resume"], saved)
        return Entry(page, config, saved.get("preset"))
    presets = agents.presets(page.AGENT)
    if preset is not None and preset not in presets:
        if not presets:
            raise ValueError(f"{page.AGENT} has no presets: leave --preset {preset} out")
        raise unknown_name(f"preset of {page.AGENT}", preset, presets)
    options = presets[preset].options if preset else {}
    return Entry(page, page.Config(**{**defaults, **options, **chosen}), preset)


def resumed(
    page: Any, chosen: Mapping[str, Any], folder: Path, saved: dict[str, Any]
) -> BoardConfig:
    """The configuration of a resumed run. Raises ValueError if more than `steps` would change."""
    path = folder / "config.json"
    before = read_config(page.Config, saved["config"], path)
    kept = {name: value for name, value in chosen.items() if name != "learn_from"}  # more games
    config = before.but(**kept)
    check_unchanged(config, before, folder)
    return config


def optimize(page: Any, typed: dict[str, Any]) -> int:
    """Search the options that were not given, and print the best; the exit code."""
    require("optuna")
    from apps.terminal import tuner
    from training.tuning import Search

    entry = entry_of(page, typed, {})
    preset = agents.presets(page.AGENT)[entry.preset].options if entry.preset else {}
    fixed = {*typed, *preset}
    seeds = typed.get("seeds_per_trial", 3)
    search = Search(page, entry.config, typed.get("until", "steps"), seeds, tuple(sorted(fixed)))
    folder = typed.get("out") or Path("runs") / f"{entry.name}-optimize-{entry.config.seed}"
    return tuner.optimize(search, typed["optimize"], folder, typed)


def train(entry: Entry, given: SimpleNamespace) -> int:
    """Train, write the run, and print its certificate; the exit code."""
    from apps.terminal import trainer
    from apps.terminal.piped import PipedConsole

    page, config, preset = entry
    folder, console = given.resume or given.out, PipedConsole()
    return trainer.train(
        page,
        config,
        preset,
        console,
        folder=folder or trainer.new_folder(entry.name, config.seed, console),
        until=given.until,
        is_resumed=bool(given.resume),
        learn_from=getattr(given, "learn_from", ""),
        export_sb3=given.export_sb3,
    )


# --- a study -------------------------------------------------------------------------------------


def train_study(entry: Entry, given: SimpleNamespace) -> int:
    """Train an agent with many seeds, and print a table over them; the exit code."""
    from apps.terminal import study

    folder = given.out or Path("runs") / f"{entry.name}-study"
    about = entry.page.AGENT, entry.config, entry.preset, given.until
    return study.train(folder, entry.name, given.seeds, about, given.cluster, given.jobs)


# --- two learners --------------------------------------------------------------------------------


def refuse_half_of_rivals(entry: Entry, saved: Mapping[str, Any], given: SimpleNamespace) -> None:
    """Raise ValueError if one learner would be trained where there are, or should be, two."""
    if "rival_of" in saved:
        first = given.resume.with_name(str(saved["rival_of"]))
        raise ValueError(
            f"{given.resume} was trained with its rival: --resume {first} continues both"
        )
    if has_snapshots(entry.page) and meets_rival(entry):
        raise ValueError(
            f"the opponents {entry.config.opponents!r} name a rival: give its agent, such as "
            f"--rival {entry.page.AGENT}"
        )


def meets_rival(entry: Entry) -> bool:
    """Whether snapshots of a rival are among the opponents."""
    return any(split_options(name)[0] == RIVAL for name, _ in parse_pool(entry.config.opponents))


def rival_entries(page: Any, typed: dict[str, Any], saved: dict[str, Any]) -> tuple[Entry, Entry]:
    """The two that are trained against each other, new ones or those of a resumed run.

    The rival gets the board and the steps that were typed, by default the next seed, and where the
    other learns one side, the other side. Raises ValueError for two that do not fit together.
    """
    if saved:
        return resumed_entries(page, typed, saved)
    rival_page, own = rival_of(typed["rival"])
    first = entry_with_rival(page, typed)
    shared = {name: typed[name] for name in ("steps", "rows", "cols", "k") if name in typed}
    defaults: dict[str, Any] = {"seed": first.config.seed + 1}
    side = getattr(first.config, "side", "both")
    if side != "both" and "side" in options_of(rival_page.Config):
        defaults["side"] = "O" if side == "X" else "X"
    second = entry_with_rival(rival_page, {**shared, **own}, **defaults)
    check_rivals(first, second)
    return first, second


def rival_of(text: str) -> tuple[Any, dict[str, Any]]:
    """The page and the options of the text of --rival. Raises ValueError for any other text."""
    try:
        agent, *options = shlex.split(text)
    except ValueError:
        raise ValueError(f"--rival: expected an agent and its options, got {text!r}") from None
    page = agents.page(agent)
    typed = with_size(command_line(page, "train.py: --rival").parse([agent, *options]))
    others = [one for one in GENERAL if one.name in typed and one.name != "preset"]
    if others:
        raise ValueError(
            f"--rival: {others[0].spelling} is not an option of the rival alone: give it to "
            "train.py, or leave it out"
        )
    return page, typed


def has_snapshots(page: Any) -> bool:
    """Whether snapshots are among the opponents of an agent, its own or those of a rival."""
    return "snapshots" in page.Config.model_fields


def entry_with_rival(page: Any, typed: dict[str, Any], **defaults: Any) -> Entry:
    """An agent whose only opponent is its rival, unless others are typed."""
    if not has_snapshots(page):
        raise ValueError(f"{page.AGENT} has no snapshots for a rival: take an agent such as dqn")
    entry = entry_of(page, {"opponents": RIVAL, **typed}, {}, **defaults)
    if not meets_rival(entry):
        raise ValueError(
            f"the opponents {entry.config.opponents!r} of {page.AGENT} lack its rival: write "
            f'something like "{RIVAL}:0.5,random:0.5"'
        )
    return entry


def check_rivals(first: Entry, second: Entry) -> None:
    """Raise ValueError for two boards, or if both learn the same side only."""
    if first.config.rules != second.config.rules:
        raise ValueError(
            f"rivals play on the same board, got {first.config.rules} and {second.config.rules}"
        )
    sides = {getattr(entry.config, "side", "both") for entry in (first, second)}
    if len(sides) == 1 and sides != {"both"}:
        raise ValueError(
            f"both learn {sides.pop()} only, so they never meet: give one of them another side"
        )


def resumed_entries(page: Any, typed: dict[str, Any], saved: dict[str, Any]) -> tuple[Entry, Entry]:
    """The two of a resumed run. The steps that were typed are those of both."""
    folder: Path = typed["resume"]
    other = folder.with_name(str(saved["rival"]))
    saved_other = saved_config(other)
    if saved_other.get("rival_of") != folder.name:
        raise ValueError(f"{other} was not trained with {folder}: was one of them renamed?")
    own = {name: typed[name] for name in ("steps",) if name in typed}
    rival_page = agents.page(saved_other["agent"])
    second = entry_of(rival_page, {"resume": other, **own}, saved_other)
    return entry_of(page, typed, saved), second


def train_rivals(entries: tuple[Entry, Entry], given: SimpleNamespace) -> int:
    """Train two learners against each other, write both runs, and print how they play."""
    from apps.terminal import trainer
    from apps.terminal.piped import PipedConsole

    first, console = entries[0], PipedConsole()
    folder = given.resume or given.out
    return trainer.train_rivals(
        entries,
        console,
        folder=folder or trainer.new_folder(first.name, first.config.seed, console),
        until=given.until,
        is_resumed=bool(given.resume),
        export_sb3=given.export_sb3,
    )


if __name__ == "__main__":
    sys.exit(main())
