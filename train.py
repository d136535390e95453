"""Train an agent: `python train.py maskable_ppo --until unbeatable`; --help lists the agents.

`python train.py dqn --rival maskable_ppo` trains two learners against each other.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from apps.terminal.interpreter import OF_EVERY_RUN, explained, require

with explained("train.py", "train"):
    import agents
    from agents import TRAINABLE
    from apps.terminal import rivals
    from apps.terminal.command_line import Option
    from apps.terminal.experiments import (
        Experiment,
        command_line,
        experiment_of,
        general_line,
        saved_config,
        typed_in,
    )
    from apps.terminal.study_table import parse_seeds
    from apps.terminal.variation import Variant, parse_varied, variants_of
    from tictactoe_env.exact.evaluation import UNTIL
    from training.cluster import cluster_address
    from training.options import Count

GENERAL = [
    Option(
        "until",
        "stop when this is proven: unbeatable, or optimal (wins most often against random play of "
        "all that never lose)",
        Literal[UNTIL],
        "steps",
    ),
    Option("out", "folder of the run (default: runs/AGENT-SEED)", Path, metavar="RUN"),
    Option(
        "rival",
        "train a second learner too, each against snapshots of the other: an agent that learns "
        "from snapshots; it has the next seed and the other --side; its run is RUN-rival",
        metavar="AGENT",
        is_rare=True,
    ),
    Option(
        "resume",
        "continue a run; only --steps may change, and --until has to be given again; a trie also "
        "learns the games played with it, and the games of --learn-from",
        Path,
        metavar="RUN",
        is_rare=True,
        without=("preset", "rival", "out"),
    ),
    Option(
        "optimize",
        "search the agent's options with Optuna, in this many trials in all, and print the best "
        "with its command line; options that are given are fixed; the same command continues the "
        "search in the folder --out (default: runs/AGENT-optimize-SEED)",
        Count,
        is_rare=True,
        without=("resume", "rival", "export_sb3", "seeds"),
    ),
    Option(
        "seeds_per_trial",
        "seeds that each trial trains, from --seed on; its score is their mean",
        Count,
        3,
        is_rare=True,
        needs="optimize",
    ),
    Option(
        "export_sb3",
        "also write the model as a zip of Stable-Baselines3: for its DQN.load (dqn), or for "
        "MaskablePPO.load of sb3_contrib (maskable_ppo)",
        Path,
        metavar="FILE",
        is_rare=True,
    ),
    Option(
        "seeds",
        "train a study: a run for each of these seeds, such as 0-99 or 0-4,7, in the folder --out "
        "(default: runs/AGENT-study), and a table over them; the same command continues it",
        parse_seeds,
        metavar="SEEDS",
        is_rare=True,
        without=("seed", "resume", "rival", "export_sb3"),
    ),
    Option(
        "vary",
        "train the seeds with each of these values of an option, in the folder --out (default: "
        "runs/AGENT-vary), and print one table; values with commas are separated by semicolons; "
        "several --vary train all combinations",
        parse_varied,
        kind="several",
        metavar="OPTION=VALUE,VALUE",
        is_rare=True,
        needs="seeds",
    ),
    Option(
        "jobs",
        "runs that are trained at a time (default: one for each core, or worker)",
        Count,
        is_rare=True,
        needs="seeds",
    ),
    Option(
        "cluster",
        "train the seeds on this cluster, dask://HOST:PORT or ray://HOST:PORT",
        cluster_address,
        metavar="ADDRESS",
        is_rare=True,
        needs="seeds",
    ),
]


@explained("train.py", "train")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    if arguments is None:
        arguments = sys.argv[1:]
    line = general_line(GENERAL)
    if not arguments or arguments[0] in ("--help", "-h", "--help-all"):
        line.print_help()
        return 0
    try:
        page: Any = agents.page(agent_of(arguments))
        line = command_line(page, GENERAL)
        typed = typed_in(line, arguments)
        if "help_all" in typed:
            command_line(page, GENERAL, is_whole=True).print_help()
            return 0
        require(*OF_EVERY_RUN)
        given = SimpleNamespace(**{**line.defaults, **typed})
        return act(page, typed, given)
    except (ValueError, OSError) as error:
        line.error(str(error))
    except MemoryError:
        line.error("there is not enough memory for this training: choose smaller options")
    except KeyboardInterrupt:
        print("train.py: ended at once, before anything was saved", file=sys.stderr)
        return 130


def act(page: Any, typed: dict[str, Any], given: SimpleNamespace) -> int:
    """Search options, train one learner or two, or train a study; the exit code.

    typed: the options that were typed. given: all general options, with their defaults.
    """
    if "optimize" in typed:
        return optimize(page, typed, given)
    saved: dict[str, Any] = {}
    if "resume" in typed:
        saved = saved_config(typed["resume"])
        if saved["agent"] != page.AGENT:
            raise ValueError(f"{typed['resume']} is a run of {saved['agent']}, not of {page.AGENT}")
    if "rival" in saved:
        return train(rivals.saved_pair(page, typed, saved), given)
    if "rival" in typed:
        return train(rivals.new_pair(page, typed), given)
    experiment = experiment_of(page, typed, saved)
    rivals.refuse_half(experiment, saved, given.resume)
    if given.vary:
        return train_study(experiment.name, variants_of(page, typed, given.vary), "vary", given)
    if given.seeds:
        return train_study(experiment.name, [Variant({}, experiment)], "study", given)
    return train((experiment,), given)


def agent_of(arguments: list[str]) -> str:
    """The agent whose options follow: the first word, or the agent of the run in --resume RUN."""
    first, _, run = arguments[0].partition("=")
    run = run or "".join(arguments[1:2])
    if first == "--resume" and run:
        return str(saved_config(Path(run))["agent"])
    if first.startswith("-"):
        names = ", ".join(TRAINABLE)
        raise ValueError(f"name the agent first ({names}), or the run in --resume RUN; got {first}")
    return first


def optimize(page: Any, typed: dict[str, Any], given: SimpleNamespace) -> int:
    """Search the options that were not given, and print the best; the exit code."""
    with explained("train.py", "optimize"):
        from apps.terminal import tuner
        from training.tuning import Search

    experiment = experiment_of(page, typed, {})
    fixed = set(typed)
    if experiment.preset:
        fixed |= agents.presets(page.AGENT)[experiment.preset].options.keys()
    config = experiment.config
    search = Search(page, config, given.until, given.seeds_per_trial, tuple(sorted(fixed)))
    folder = given.out or Path("runs") / f"{experiment.name}-optimize-{config.seed}"
    return tuner.optimize(search, given.optimize, folder, typed)


def train(experiments: tuple[Experiment, ...], given: SimpleNamespace) -> int:
    """Train one learner, or two against each other, and print what is proven; the exit code."""
    from apps.terminal import trainer
    from apps.terminal.report import PipedConsole
    from training.run import Run

    console = PipedConsole()
    first = experiments[0]
    folder = given.resume or given.out
    if folder is None:
        folder = trainer.new_folder(first.name, first.config.seed, console)
    training: Any
    if len(experiments) == 1:
        training = Run(folder, first.page, first.config, given.until, first.preset)
    else:
        training = rivals.runs_of(experiments, folder, given.until)
    return trainer.train(
        training,
        console,
        is_resumed=bool(given.resume),
        learn_from=getattr(given, "learn_from", ""),
        export_sb3=given.export_sb3,
    )


def train_study(name: str, variants: list[Variant], kind: str, given: SimpleNamespace) -> int:
    """Train an agent with many seeds, and print a table over them; the exit code."""
    from apps.terminal import study

    folder = given.out or Path("runs") / f"{name}-{kind}"
    with explained("train.py", "cluster" if given.cluster else "train"):
        return study.train(
            folder, name, variants, given.seeds, given.until, given.cluster, given.jobs
        )


if __name__ == "__main__":
    sys.exit(main())
