"""`train.py AGENT --rival AGENT`: what the two learners are, new ones or those of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agents
from apps.terminal.experiments import Experiment, continued, experiment_of
from tictactoe_env.opponents import parse_pool, split_options
from training.run_files import read_config_file
from training.selfplay import RIVAL

if TYPE_CHECKING:
    from training.rivals import Rivals

SHARED = ("steps", "judge_every", "opponents", "snapshot_every")  # options that a rival gets too
Pair = tuple[Experiment, Experiment]


def refuse_half(experiment: Experiment) -> None:
    """Raise ValueError for a learner that is trained alone, though its opponents name a rival."""
    if meets_rival(experiment):
        raise ValueError(
            f"the opponents {experiment.config.opponents!r} name a rival: give its agent, such as "
            f"--rival {experiment.module.AGENT}"
        )


def has_snapshots(module: Any) -> bool:
    """True if snapshots are among the opponents of an agent, its own or those of a rival."""
    return "snapshot_every" in module.Config.model_fields


def meets_rival(experiment: Experiment) -> bool:
    """True if snapshots of a rival are among the opponents."""
    if not has_snapshots(experiment.module):
        return False
    pool = parse_pool(experiment.config.opponents)
    return any(split_options(name)[0] == RIVAL for name, _ in pool)


def new_pair(module: Any, rival: str, typed: Mapping[str, Any]) -> Pair:
    """The two that are trained against each other.

    The rival gets the board, the options in SHARED that were typed, the next seed, and where the
    other learns one side, the other side. Raises ValueError for one that has no snapshots.
    """
    first = experiment_of(module, {"opponents": RIVAL, **typed})
    config = first.config
    side = {"X": "O", "O": "X"}.get(config.learned_side, "both")
    own = {"opponents": RIVAL, "seed": config.seed + 1, "side": side}
    shared = {name: typed[name] for name in SHARED if name in typed}
    second = experiment_of(agents.module(rival), {**own, **shared, **config.rules.to_json()})
    for experiment in (first, second):
        if not meets_rival(experiment):
            raise ValueError(
                f"{experiment.name} would not meet its rival: take an agent with snapshots, such "
                f"as dqn, and name the rival among the opponents, such as {RIVAL}:0.5,random:0.5"
            )
    return first, second


def resumed(
    folder: Path, saved: Mapping[str, Any], typed: Mapping[str, Any]
) -> tuple[Experiment, ...]:
    """The learner of a run to be continued, or the two that were trained against each other.

    Raises ValueError for the second of two, since the first continues both.
    """
    if "rival" in saved:
        return saved_pair(folder, saved, typed)
    if "rival_of" in saved:
        first = folder.with_name(str(saved["rival_of"]))
        raise ValueError(f"{folder} was trained with its rival: --resume {first} continues both")
    experiment = continued(folder, saved, typed)
    refuse_half(experiment)
    return (experiment,)


def saved_pair(folder: Path, saved: Mapping[str, Any], typed: Mapping[str, Any]) -> Pair:
    """The two of a resumed run. The steps that were typed are those of both."""
    other = folder.with_name(str(saved["rival"]))
    saved_other = read_config_file(other)
    if saved_other.get("rival_of") != folder.name:
        raise ValueError(f"{other} was not trained with {folder}: was one of them renamed?")
    steps = {name: value for name, value in typed.items() if name == "steps"}
    return continued(folder, saved, typed), continued(other, saved_other, steps)


def runs_of(pair: tuple[Experiment, ...], folder: Path, until: str) -> Rivals:
    """The training of two learners, in FOLDER and FOLDER-rival."""
    from apps.terminal.trainer import rival_folder
    from training.rivals import RivalRun, Rivals

    other = rival_folder(folder)
    (one, config, preset), (rival, its_config, its_preset) = pair
    inside = folder / "checkpoint" / "rival"
    its = {"rival_of": folder.name}
    return Rivals(
        RivalRun(folder, one, config, until, preset, related={"rival": other.name}),
        RivalRun(other, rival, its_config, until, its_preset, related=its, checkpoint=inside),
    )
