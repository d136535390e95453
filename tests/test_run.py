"""The folder of a run, written for a learner that plays one given policy after the other."""

import io
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from sample_players import LineCounter, best_player, fixed_table
from small_runs import metrics
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from test_law import Misere
from text_cases import refuses

from apps.terminal.progress import Display
from tictactoe_env.certificates.certificate import exact_results, read, table_of, verify
from tictactoe_env.exact.evaluation import evaluate, evaluate_or_sample
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules
from training import kernels
from training import learner as learner_module
from training import run as runs
from training.files import read_json
from training.goals import check_goal
from training.learner import Learner, Table, evaluations
from training.metrics import COLUMNS, EXPLOITED, results_of, row_of
from training.options import BoardConfig, Count, option
from training.run import Run

RULES = Rules(2, 4, 3)
UNFINISHED = positions_of(RULES).unfinished
WEAK = fixed_table(RULES)
BEST = best_player(RULES)
RANDOM, PERFECT = (tabulate(make_opponent(name, RULES), RULES) for name in ("random", "minimax"))


class Config(BoardConfig):
    """Options of somebody."""

    steps: Count = option(400, "Steps.")
    judge_every: Count = option(100, "Steps between evaluations.")
    rows: Count = option(2, "Rows.")
    cols: Count = option(4, "Columns.")
    side: str = option("both", "Side.")


class Scripted(Learner):
    """Plays the next policy of a list at each evaluation."""

    def __init__(self, policies=(), notes=None, meanwhile=lambda steps: None):
        self.policies = policies
        self._notes = notes or {}
        self.meanwhile = meanwhile

    def advance(self, most):
        self.steps += most
        self.meanwhile(self.steps)

    def policy(self):
        return self.policies[(self.steps - 1) // 100 % len(self.policies)]

    def notes(self):
        return {name: values[self.steps // 100 - 1] for name, values in self._notes.items()}

    def scalars(self):
        return {"train/loss": self.steps / 1000}

    def tables(self):
        return {"league/table.csv": Table(["steps", "twice"], [(self.steps, 2 * self.steps)])}

    def model(self):
        return {"table": self.policy().table}

    def state(self):
        return {"at": self.steps}

    def restore(self, model, state):
        self.restored = state["at"]


PAGE = SimpleNamespace(AGENT="somebody", Config=Config, PRESETS={}, begin=lambda _: Scripted())
PAGE.player = lambda config, model: TabularPolicy(config.rules, model["table"])


def new_run(folder, until="steps", preset=None, **options):
    run = Run(folder, PAGE, Config(**options), until, preset)
    run.start()
    return run


def display(run):
    console = Console(file=io.StringIO(), width=300)
    return Display("somebody", run.config.steps, run.learner.steps, console, True, run.folder)


def trained(run, policies, observer=None, **keywords):
    """The run after a training that plays these policies at its evaluations."""
    run.learner = Scripted(policies, **keywords)
    with run.observed(observer or display(run)):
        any(run.evaluate() for _ in evaluations(run.learner, run.config))
    return run


def resumed(folder, policies=(RANDOM,), steps=800):
    run = Run(folder, PAGE, Config(steps=steps))
    run.learner = Scripted(policies)
    run.resume()
    return run


def steps_of(folder):
    return [int(row["steps"]) for row in metrics(folder)]


def saved_at(path):
    """The steps of what is saved in a JSON file."""
    return read_json(path)["steps"]


def test_a_run_begins_with_its_configuration_and_has_no_best_player_before_an_evaluation(tmp_path):
    with refuses("nothing was evaluated"):
        new_run(tmp_path).finish()
    content = read_json(tmp_path / "config.json")
    assert (content["agent"], content["config"]) == ("somebody", Config().saved())
    assert content["kernels"] == kernels.chosen()


@pytest.mark.parametrize("kind", [Rules, Misere])
@pytest.mark.parametrize("name", ["minimax", "random"])
def test_the_results_come_back_from_a_row_of_metrics_also_where_a_side_must_win(kind, name):
    rules = kind(2, 3, 2)
    found = evaluate(make_opponent(name, rules), rules)
    assert results_of(row_of(1, 0.0, found, rules), rules) == found


def test_a_row_of_metrics_says_which_side_was_sampled():
    long = Rules(1, 13, 3)
    found = evaluate_or_sample(LineCounter(long), long, "X")
    assert found.sampled == ("O",)
    assert results_of(row_of(1, 0.0, found, long), long) == found


def test_x_has_no_goal_where_o_wins():
    with refuses("no X can avoid losing", "2x3"):
        check_goal(SimpleNamespace(rules=Misere(2, 3, 2), learned_side="X"), "unbeatable")


def test_the_metrics_are_the_exact_results_of_every_evaluation(tmp_path):
    policies = (WEAK, RANDOM, PERFECT, BEST)
    games = [7, 8, 9, 123_456]
    notes = {"illegal_everywhere": [0.25, 0.125, 0, 0], "games": games}
    run = trained(new_run(tmp_path), policies, notes=notes)
    rows = metrics(tmp_path)
    assert tuple(rows[0]) == (*COLUMNS, *EXPLOITED, *notes)
    assert steps_of(tmp_path) == [100, 200, 300, 400]
    for row, policy in zip(rows, policies, strict=True):
        for side, stated in exact_results(policy).items():
            name = side.lower()
            for rate in ("win", "draw", "loss", "illegal"):
                assert float(row[f"{name}_{rate}"]) == getattr(stated.vs_random, rate)
            assert row[f"unbeatable_{name}"] == str(int(stated.unbeatable))
            assert row[f"optimal_{name}"] == str(int(policy is BEST))
    assert [float(row["games"]) for row in rows] == games
    assert resumed(tmp_path, policies, steps=500).record.rows == run.record.rows
    events = EventAccumulator(str(tmp_path)).Reload()
    assert {"train/loss", "noted/games"} < set(events.Tags()["scalars"])
    found = [(event.step, event.value) for event in events.Scalars("exact/unbeatable_x")]
    assert found == [(100, 0.0), (200, 0.0), (300, 1.0), (400, 1.0)]


def test_the_best_model_by_exact_results_is_kept_and_certified(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "CHECKPOINT_SECONDS", -1)
    kept = []
    run = new_run(tmp_path, preset="weakling", steps=500, seed=3)
    model = tmp_path / "model.json"
    look = lambda steps: steps > 100 and kept.append(saved_at(model))  # noqa: E731
    trained(run, [RANDOM, PERFECT, WEAK, BEST, BEST], meanwhile=look)  # the last is no better
    assert [*kept, saved_at(model)] == [100, 200, 200, 400, 400]
    content = run.finish()
    assert content == read(tmp_path)
    verify(content)
    assert (table_of(content).table == BEST.table).all()
    about = content.stated
    training = about.training
    assert (about.agent, about.seed, about.config["steps"]) == ("somebody", 3, 500)
    points = [training[name]["steps"] for name in ("first_unbeatable", "best_at", "first_optimal")]
    assert (points, training["steps"]) == ([200, 400, 400], 500)
    assert run.name == "somebody-weakling"
    assert read_json(tmp_path / "config.json")["preset"] == training["preset"] == "weakling"
    assert (tmp_path / "league" / "table.csv").read_text() == "steps,twice\n500,1000\n"


def test_an_interrupt_stops_at_the_next_evaluation_and_a_second_one_at_once(tmp_path):
    """Everything is saved at that evaluation; a run without a checkpoint leaves nothing."""
    before = signal.getsignal(signal.SIGINT)
    run = new_run(tmp_path / "run", steps=9999)
    shown = display(run)
    trained(run, [RANDOM], shown, meanwhile=lambda steps: steps == 200 and interrupt())
    assert run.is_interrupted
    assert "stopping" in shown.console.file.getvalue()
    assert saved_at(tmp_path / "run/checkpoint/progress.json") == 200
    new = Run(tmp_path / "new", PAGE, Config())
    with pytest.raises(KeyboardInterrupt), new.files.held():
        trained(new, [RANDOM], meanwhile=lambda steps: [interrupt(), interrupt()])
    assert signal.getsignal(signal.SIGINT) is before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def interrupt():
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("at", [330, 730])
def test_checkpoints_come_between_evaluations_too_and_the_run_continues_from_there(
    tmp_path, monkeypatch, at
):
    """Before the first evaluation, and after it. A step takes 0.12 seconds here, a pause 50 steps.

    Seconds go on from those of the checkpoint.
    """
    now = [1000.0]
    run = new_run(tmp_path, steps=800)
    every = run.config.replace(judge_every=400)

    def step(steps):
        now[0] = 1000 + 0.12 * steps
        if steps >= at:
            raise KeyboardInterrupt

    with monkeypatch.context() as clock:
        clock.setattr(runs.time, "monotonic", lambda: now[0])
        clock.setattr(learner_module, "PIECE_SECONDS", 6.0)
        run.learner = Scripted((RANDOM, PERFECT), meanwhile=step)
        with pytest.raises(KeyboardInterrupt), run.observed(display(run)):
            any(run.evaluate() for _ in evaluations(run.learner, every, run.pause))
    saved = read_json(tmp_path / "checkpoint" / "progress.json")
    assert at - 300 < saved["steps"] < at
    assert saved["seconds"] == pytest.approx(0.12 * saved["steps"], abs=0.01)
    again = resumed(tmp_path, [RANDOM, PERFECT])
    assert again.learner.steps == again.learner.restored == saved["steps"]
    assert [row["steps"] for row in again.record.rows] == ([] if at < 400 else [400])
    with again.observed(display(again)):
        any(again.evaluate() for _ in evaluations(again.learner, every, again.pause))
    assert steps_of(tmp_path) == [400, 800]
    assert float(metrics(tmp_path)[-1]["seconds"]) >= saved["seconds"]


def test_where_one_side_is_trained_only_that_side_counts_and_ends_the_run(tmp_path):
    """A player whose X is weak and whose O never loses is better, as O, than the opposite."""
    is_x = positions_of(RULES).x_to_move[UNFINISHED][:, None]
    tables = [np.where(is_x == which, BEST.table, WEAK.table) for which in (True, False)]
    good_x, good_o = (TabularPolicy(RULES, table) for table in tables)
    run = trained(new_run(tmp_path, "unbeatable", side="O"), [good_x, good_o])
    assert (run.best_player.table == good_o.table).all()
    assert steps_of(tmp_path) == [100, 200]
    assert saved_at(tmp_path / "checkpoint/progress.json") == 200
    assert {run.record.first_reached[goal]["steps"] for goal in ("unbeatable", "optimal")} == {200}
