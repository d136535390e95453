"""Train an agent: `python train.py maskable_ppo --until unbeatable`; --help lists the agents.

`python train.py dqn --rival maskable_ppo` trains two learners against each other.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from apps.terminal.interpreter import OF_EVERY_RUN, explained, require

with explained("train.py", "train"):
    from cyclopts import Parameter

    import agents
    from agents import TRAINABLE
    from apps.terminal import rivals
    from apps.terminal.command_line import HELP, Flag, read_by
    from apps.terminal.experiments import (
        Experiment,
        command_line,
        experiment_of,
        general_line,
        plain_options,
    )
    from apps.terminal.study_table import parse_seeds
    from apps.terminal.variation import parse_varied, variants_of
    from tictactoe_env.exact.evaluation import UNTIL
    from training.cluster import cluster_address
    from training.options import Count
    from training.run_files import read_config_file

Agent = Annotated[str, Parameter(help="the agent to train", required=False)]
Until = Annotated[
    Literal[UNTIL],
    Parameter(
        help="stop when this is proven: unbeatable, or optimal (wins most often against random "
        "play of all that never lose)"
    ),
]
Out = Annotated[
    Path | None, Parameter(metavar="RUN", help="folder of the run (default: runs/AGENT-SEED)")
]
ExportSb3 = Annotated[
    Path | None,
    Parameter(
        metavar="FILE",
        help="also write the model as a zip of Stable-Baselines3: for its DQN.load (dqn), or for "
        "MaskablePPO.load of sb3_contrib (maskable_ppo)",
    ),
]


@explained("train.py", "train")
def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    line = general_line(PROGRAMS)
    if not words or words[0] in (*HELP, "--help-all"):
        line.print_help()
        return 0
    try:
        module: Any = agents.module(agent_of(words))
        line = command_line(module, PROGRAMS)
        program, typed = line.parse(words)
        options = plain_options(module, typed.kwargs)
        if options.pop("help_all", False):
            command_line(module, PROGRAMS, is_whole=True).print_help()
            return 0
        require(*OF_EVERY_RUN)
        return int(program(*typed.args, **options))
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
    run = run or "".join(arguments[1:2])
    if first == "--resume" and run:
        return str(read_config_file(Path(run))["agent"])
    if first.startswith("-"):
        names = ", ".join(TRAINABLE)
        raise ValueError(f"name the agent first ({names}), or the run in --resume RUN; got {first}")
    return first


# The programs. Their `options` are those of the agent that were typed, `preset` among them. They
# print what is proven, and return the exit code.


def train(
    agent: Agent,
    /,
    *,
    until: Until = "steps",
    out: Out = None,
    export_sb3: ExportSb3 = None,
    watch: Flag = False,
    **options: Any,
) -> int:
    """Train one learner, and print what is proven; the exit code.

    Args:
        watch: show in slow motion how it learns until nobody can beat it; this changes nothing
            that it learns
    """
    experiment = experiment_of(agents.module(agent), options)
    rivals.refuse_half(experiment)
    if watch and until == "steps":
        until = "unbeatable"
    return train_all((experiment,), until, out, export_sb3, is_watched=watch)


def resume_run(
    agent: Agent = "",
    /,
    *,
    resume: Path,
    until: Until = "steps",
    export_sb3: ExportSb3 = None,
    **options: Any,
) -> int:
    """Continue a run, or two that meet.

    Args:
        resume: its folder; only --steps may change, and --until has to be given again; a trie also
            learns the games played with it, and the games of --learn-from
    """
    saved = read_config_file(resume)
    name = str(saved["agent"])
    if agent not in ("", name):
        raise ValueError(f"{resume} is a run of {name}, not of {agent}")
    experiments = rivals.resumed(resume, saved, options)
    learn_from = options.get("learn_from", "")
    return train_all(experiments, until, resume, export_sb3, is_resumed=True, learn_from=learn_from)


def train_rivals(
    agent: Agent,
    /,
    *,
    rival: str,
    until: Until = "steps",
    out: Out = None,
    export_sb3: ExportSb3 = None,
    **options: Any,
) -> int:
    """Train two learners against each other.

    Args:
        rival: an agent that learns from snapshots; each is trained against snapshots of the other;
            it has the next seed and the other --side; its run is RUN-rival
    """
    pair = rivals.new_pair(agents.module(agent), rival, options)
    return train_all(pair, until, out, export_sb3)


def train_all(
    experiments: tuple[Experiment, ...],
    until: str,
    folder: Path | None,
    export_sb3: Path | None,
    *,
    is_resumed: bool = False,
    is_watched: bool = False,
    learn_from: str = "",
) -> int:
    """Train one learner, or two against each other, and print what is proven; the exit code."""
    from apps.terminal import trainer
    from apps.terminal.report import PipedConsole
    from apps.terminal.watched import WatchedRun
    from training.run import Run

    console = PipedConsole()
    if is_watched and not console.is_interactive:
        raise ValueError("--watch draws in place, which needs a terminal that can: leave it out")
    first = experiments[0]
    notice = ""
    if folder is None:
        folder, notice = trainer.new_folder(first.name, first.config.seed)
    training: Any
    if len(experiments) == 1:
        kind = WatchedRun if is_watched else Run
        training = kind(folder, first.module, first.config, until, first.preset)
    else:
        training = rivals.runs_of(experiments, folder, until)
    return trainer.train(
        training,
        console,
        is_resumed=is_resumed,
        learn_from=learn_from,
        export_sb3=export_sb3,
        notice=notice,
    )


def search(
    agent: Agent,
    /,
    *,
    optimize: Count,
    seeds_per_trial: Count = 3,
    until: Until = "steps",
    out: Out = None,
    **options: Any,
) -> int:
    """Search the options of an agent that are not given, with Optuna.

    Args:
        optimize: trials in all; the best is printed with its command line; the same command
            continues the search in the folder --out (default: runs/AGENT-optimize-SEED)
        seeds_per_trial: seeds that each trial trains, from --seed on; its score is their mean
    """
    with explained("train.py", "optimize"):
        from apps.terminal import tuner
        from training.tuning import Search

    module: Any = agents.module(agent)
    experiment = experiment_of(module, options)
    config = experiment.config
    fixed = set(options)
    if experiment.preset:
        fixed |= agents.presets(agent)[experiment.preset].options.keys()
    asked = Search(module, config, until, seeds_per_trial, tuple(sorted(fixed)))
    folder = out or Path("runs") / f"{experiment.name}-optimize-{config.seed}"
    if until != "steps":
        options = {"until": until, **options}
    return tuner.optimize(asked, optimize, folder, options)


def study(
    agent: Agent,
    /,
    *,
    seeds: Annotated[tuple[int, ...], read_by(parse_seeds), Parameter(n_tokens=1, metavar="SEEDS")],
    vary: list[str] | None = None,
    jobs: Count | None = None,
    cluster: Annotated[str | None, read_by(cluster_address)] = None,
    until: Until = "steps",
    out: Out = None,
    **options: Any,
) -> int:
    """Train a study: an agent with many seeds.

    Args:
        seeds: such as 0-99 or 0-4,7: a run for each, in the folder --out (default:
            runs/AGENT-study), and a table over them; the same command continues it
        vary: OPTION=VALUE,VALUE: train the seeds with each of these values of an option, in the
            folder --out (default: runs/AGENT-vary), and print one table; values with commas are
            separated by semicolons; several --vary train all combinations
        jobs: runs that are trained at a time (default: one for each core, or worker)
        cluster: train them on this cluster, dask://HOST:PORT or ray://HOST:PORT
    """
    from apps.terminal.study import train as train_seeds

    module: Any = agents.module(agent)
    experiment = experiment_of(module, options)
    rivals.refuse_half(experiment)
    name = experiment.name
    variants = variants_of(module, options, [parse_varied(text) for text in vary or ()])
    kind = "vary" if vary else "study"
    folder = out or Path("runs") / f"{name}-{kind}"
    with explained("train.py", "cluster" if cluster else "train"):
        return train_seeds(folder, name, variants, seeds, until, cluster, jobs)


PROGRAMS = {
    "": train,
    "--resume": resume_run,
    "--rival": train_rivals,
    "--optimize": search,
    "--seeds": study,
}

if __name__ == "__main__":
    sys.exit(main())
