import csv
import io
import json
import signal
from dataclasses import dataclass

import numpy as np
import pytest
from rich.console import Console
from sample_players import fixed_table
from small_runs import best_player

from tictactoe_env.certificate import exact_results, read, table_of, verify
from tictactoe_env.match import Result
from tictactoe_env.opponents import MinimaxPolicy
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training import run as runs
from training.evaluation import judge
from training.files import DamagedFileError, read_json, write_json
from training.run import COLUMNS, Run, describe, percent
from training.values import ValuedTable

RULES = Rules(2, 4, 3)
WEAK, RANDOM, PERFECT, BEST = (
    fixed_table(RULES),
    tabulate(RandomPolicy(), RULES),
    tabulate(MinimaxPolicy(RULES), RULES),
    best_player(RULES),
)


@dataclass(frozen=True)
class Config:
    seed: int = 3
    steps: int = 400
    hidden: tuple[int, ...] = (8, 8)


class Saves:
    """Stands for a trainer: notes what it is asked to save and writes the steps that it is at."""

    def __init__(self):
        self.steps, self.asked = 0, []

    def __call__(self, folder, everything=True):
        self.asked.append((self.steps, folder.name, everything))
        write_json(folder / "model.json", {"steps": self.steps})


def new_run(folder, until="steps", steps=400, console=None):
    run = Run(
        folder, "somebody", Config(steps=steps), until, console or Console(file=io.StringIO())
    )
    run.start()
    return run


def reported(run, policies, save=None, first=100):
    """What the run answers to judgements at `first`, `first` + 100, ..."""
    save = save or Saves()
    answers = []
    with run:
        for number, policy in enumerate(policies):
            save.steps = first + 100 * number
            answers.append(run(save.steps, policy, save))
    return answers


def metrics(folder):
    with open(folder / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


# --- what is written ---------------------------------------------------------------------------------------------


def test_a_run_writes_its_configuration_at_the_start(tmp_path):
    new_run(tmp_path / "run")
    content = read_json(tmp_path / "run" / "config.json")
    assert (content["agent"], content["config"]) == (
        "somebody",
        {"seed": 3, "steps": 400, "hidden": [8, 8]},
    )
    assert "numpy" in content["versions"]


def test_a_folder_that_holds_something_is_refused_and_nothing_in_it_is_touched(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(
        ValueError,
        match=f"{tmp_path} is not an empty folder: give another --out, or go on with --resume {tmp_path}",
    ):
        new_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(ValueError, match=r"mine\.txt is not an empty folder"):
        new_run(tmp_path / "mine.txt")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    new_run(tmp_path / "empty")


def test_the_metrics_are_the_exact_figures_of_every_judgement(tmp_path):
    run = new_run(tmp_path)
    assert reported(run, [WEAK, RANDOM, PERFECT, BEST]) == [False] * 4
    rows = metrics(tmp_path)
    assert tuple(rows[0]) == COLUMNS
    assert [int(row["steps"]) for row in rows] == [100, 200, 300, 400]
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    for row, policy in zip(rows, (WEAK, RANDOM, PERFECT, BEST), strict=True):
        stated = exact_results(policy)
        for side in ("x", "o"):
            assert {
                name: float(row[f"{side}_{name}"]) for name in stated[f"as_{side}"]["vs_random"]
            } == stated[f"as_{side}"]["vs_random"]
            assert row[f"unbeatable_{side}"] == str(int(stated[f"as_{side}"]["unbeatable"]))
        assert row["optimal_x"] == row["optimal_o"] == str(int(stated["optimal"]))


def test_the_best_by_exact_result_is_kept_and_saved_once(tmp_path):
    run, save = new_run(tmp_path), Saves()
    reported(run, [RANDOM, PERFECT, WEAK, PERFECT], save)
    models = [steps for steps, folder, everything in save.asked if not everything]
    assert models == [100, 200]
    assert [asked for asked in save.asked if asked[2]] == [(400, ".checkpoint.new", True)]
    content = run.finish()
    assert content["training"]["best_at"]["steps"] == 200
    assert content["training"]["steps"] == 400
    assert (table_of(content).table == PERFECT.table).all()
    assert json.loads((tmp_path / "model.json").read_text()) == {"steps": 200}


def test_the_certificate_holds_everything_about_the_run_and_is_verified(tmp_path):
    run = new_run(tmp_path)
    reported(run, [RANDOM, PERFECT, BEST, RANDOM])
    returned = run.finish()
    content = read(tmp_path)
    assert json.loads(json.dumps(returned)) == content
    verify(content)
    assert (content["agent"], content["seed"], content["config"]["steps"]) == ("somebody", 3, 400)
    assert content["board"] == {"rows": 2, "cols": 4, "k": 3}
    training = content["training"]
    assert [
        training[name]["steps"] for name in ("first_unbeatable", "best_at", "first_optimal")
    ] == [200, 300, 300]
    assert training["best_at"]["seconds"] == float(metrics(tmp_path)[2]["seconds"])
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_tensorboard_finds_the_figures_of_every_judgement(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reported(new_run(tmp_path), [RANDOM, PERFECT])
    events = EventAccumulator(str(tmp_path)).Reload()
    assert {name.removeprefix("exact/") for name in events.Tags()["scalars"]} == set(COLUMNS) - {
        "steps"
    }
    assert [(event.step, event.value) for event in events.Scalars("exact/unbeatable_x")] == [
        (100, 0.0),
        (200, 1.0),
    ]


def test_nothing_judged_is_no_certificate(tmp_path):
    run = new_run(tmp_path)
    with run, pytest.raises(ValueError, match="nothing was judged yet"):
        run.finish()


# --- when it stops -----------------------------------------------------------------------------------------------


def test_a_run_stops_at_its_goal_and_saves_everything_there(tmp_path):
    for until, expected in (
        ("steps", [False] * 3),
        ("unbeatable", [False, True, True]),
        ("optimal", [False, False, True]),
    ):
        run, save = new_run(tmp_path / until, until, steps=9999), Saves()
        assert reported(run, [RANDOM, PERFECT, BEST], save) == expected
        assert [steps for steps, _, everything in save.asked if everything] == [
            100 * (number + 1) for number, stop in enumerate(expected) if stop
        ]


def test_an_interrupt_stops_at_the_next_judgement_where_everything_is_saved(tmp_path):
    console = Console(file=io.StringIO())
    run, save = new_run(tmp_path, steps=9999, console=console), Saves()
    before = signal.getsignal(signal.SIGINT)
    with run:
        assert not run(100, RANDOM, save)
        signal.raise_signal(signal.SIGINT)
        assert "stopping at the next judgement" in console.file.getvalue()
        assert run(200, RANDOM, save)
    assert run.interrupted
    assert signal.getsignal(signal.SIGINT) is before
    assert read_json(tmp_path / "checkpoint" / "progress.json") == {"steps": 200}
    assert [int(row["steps"]) for row in metrics(tmp_path)] == [100, 200]


def test_a_second_interrupt_ends_at_once(tmp_path):
    run = new_run(tmp_path)
    before = signal.getsignal(signal.SIGINT)
    with run:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_checkpoints_are_written_from_time_to_time(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(runs.time, "monotonic", lambda: now[0])
    run, save = new_run(tmp_path, steps=9999), Saves()
    with run:
        for number in range(1, 8):
            now[0] += 12
            save.steps = 100 * number
            run(save.steps, RANDOM, save)
    assert [steps for steps, _, everything in save.asked if everything] == [300, 600]
    assert [float(row["seconds"]) for row in metrics(tmp_path)] == [12, 24, 36, 48, 60, 72]


# --- going on ----------------------------------------------------------------------------------------------------


def resumed(folder, steps=800, until="steps"):
    run = Run(folder, "somebody", Config(steps=steps), until, Console(file=io.StringIO()))
    run.resume()
    return run


def test_a_run_goes_on_with_its_rows_its_seconds_and_its_best(tmp_path):
    first = new_run(tmp_path)
    reported(first, [RANDOM, PERFECT, WEAK, RANDOM])
    first.finish()
    earlier = metrics(tmp_path)
    run, save = resumed(tmp_path), Saves()
    run.keep_best(PERFECT)
    reported(run, [WEAK, RANDOM], save, first=500)
    assert [asked for asked in save.asked if not asked[2]] == [], (
        "nothing was better than what there was"
    )
    content = run.finish()
    assert content["training"]["best_at"] == {"steps": 200, "seconds": float(earlier[1]["seconds"])}
    assert content["training"]["first_unbeatable"] == {
        "steps": 200,
        "seconds": float(earlier[1]["seconds"]),
    }
    assert [int(row["steps"]) for row in metrics(tmp_path)] == [100, 200, 300, 400, 500, 600]
    assert metrics(tmp_path)[:4] == earlier
    assert float(metrics(tmp_path)[4]["seconds"]) >= float(earlier[3]["seconds"])
    assert read_json(tmp_path / "config.json")["config"]["steps"] == 800


def test_rows_beyond_the_checkpoint_are_trained_again(tmp_path):
    run = new_run(tmp_path)
    reported(run, [RANDOM] * 4)
    write_json(tmp_path / "checkpoint" / "progress.json", {"steps": 200})
    assert [row["steps"] for row in resumed(tmp_path).rows] == [100, 200]


def test_a_judgement_of_the_point_it_goes_on_from_counts_once(tmp_path):
    reported(new_run(tmp_path), [RANDOM] * 4)
    run = resumed(tmp_path)
    run.keep_best(RANDOM)
    assert reported(run, [PERFECT, PERFECT], first=400) == [False, False]
    run.finish()
    assert [int(row["steps"]) for row in metrics(tmp_path)] == [100, 200, 300, 400, 500]


def test_a_crash_between_the_renamings_of_a_checkpoint_is_mended(tmp_path):
    reported(new_run(tmp_path), [RANDOM] * 4)
    (tmp_path / "checkpoint").rename(tmp_path / ".checkpoint.old")
    assert len(resumed(tmp_path).rows) == 4


def test_a_run_without_a_checkpoint_or_with_nothing_left_to_train_says_so(tmp_path):
    new_run(tmp_path)
    with pytest.raises(
        FileNotFoundError, match="has no checkpoint to go on from: train anew with another --out"
    ):
        resumed(tmp_path)
    reported(
        Run(tmp_path, "somebody", Config(), "steps", Console(file=io.StringIO())), [RANDOM] * 4
    )
    for steps in (400, 399, 1):
        with pytest.raises(
            ValueError, match="has trained 400 steps already: give --steps more than that"
        ):
            resumed(tmp_path, steps)
    assert read_json(tmp_path / "config.json")["config"]["steps"] == 400


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.csv", "steps,seconds\n100,1.0\n"),
        ("metrics.csv", "steps\nmany\n"),
        ("metrics.csv", "\n\n"),
        ("checkpoint/progress.json", "{}"),
        ("checkpoint/progress.json", "[400]"),
        ("checkpoint/progress.json", '{"steps": null}'),
        ("checkpoint/progress.json", "{"),
    ],
)
def test_damaged_files_of_a_run_are_named(tmp_path, name, content):
    reported(new_run(tmp_path), [RANDOM] * 4)
    (tmp_path / name).write_text(content)
    with pytest.raises(DamagedFileError, match=name.split("/")[-1].replace(".", r"\.")):
        resumed(tmp_path)


# --- what is shown -----------------------------------------------------------------------------------------------


def test_results_are_described_in_per_cent_with_what_is_proven():
    assert percent(Result(191 / 192, 1 / 192, 0.0)) == "99.48/0.52/0.00"
    assert describe(judge(RANDOM)).count("unbeatable") == 0
    assert describe(judge(PERFECT)).count("unbeatable") == 2
    assert "at both limits" not in describe(judge(PERFECT))
    assert describe(judge(BEST)).endswith("at both limits")
    assert (
        describe(judge(tabulate(RandomPolicy(), Rules())))
        == "X 58.49/12.70/28.81   O 28.81/12.70/58.49"
    )


def test_progress_is_plain_lines_where_the_output_is_no_terminal(tmp_path):
    console = Console(file=io.StringIO(), width=40)
    reported(new_run(tmp_path, console=console, steps=10_000), [RANDOM, PERFECT])
    (line,) = console.file.getvalue().splitlines()
    assert line.startswith("       100 steps")
    assert "steps/s   against random, exact:  X " in line


@pytest.mark.parametrize("terminal", [False, True])
def test_a_line_stays_at_every_tenth(tmp_path, terminal):
    console = Console(file=io.StringIO(), width=300, force_terminal=terminal)
    reported(new_run(tmp_path, console=console, steps=2_000), [RANDOM] * 20)
    lines = [
        line
        for line in console.file.getvalue().splitlines()
        if " s   " in line and "against random" in line and "━" not in line
    ]
    steps = [
        int(line.split(" steps")[0].split()[-1].replace(",", ""))
        for line in lines
        if " steps " in line
    ]
    assert set(range(200, 2_001, 200)) <= set(steps)


def test_what_a_trainer_notes_is_shown_and_written_beside_the_exact_figures(tmp_path):
    console = Console(file=io.StringIO(), width=300)
    run = new_run(tmp_path, console=console)
    with run:
        run(100, RANDOM, Saves(), {"illegal_everywhere": 0.25, "games": 70})
        run(400, RANDOM, Saves(), {"illegal_everywhere": 0.125, "games": 123_456})
    assert "illegal everywhere 0.25   games 70" in console.file.getvalue()
    assert [(row["illegal_everywhere"], row["games"]) for row in metrics(tmp_path)] == [
        ("0.25", "70.0"),
        ("0.125", "123456.0"),
    ]
    again = Run(tmp_path, "somebody", Config(steps=500), "steps", Console(file=io.StringIO()))
    again.resume()
    assert again.rows == run.rows


def test_a_player_by_values_shows_what_its_first_moves_are_worth(tmp_path):
    values = np.where(
        positions_of(RULES).boards[positions_of(RULES).unfinished] == 0, 0.25, -np.inf
    )
    values[0, 5], values[0, 4] = 0.75, -np.inf  # a move that it may not make
    console = Console(file=io.StringIO(), width=300)
    reported(new_run(tmp_path, console=console), [ValuedTable(RULES, values)])
    grid = console.file.getvalue().splitlines()[-4:]
    assert grid[0] == "Q of the empty board, as it believes"
    assert [line.split()[1:] for line in grid[2:]] == [["0.25"] * 4, [".", "0.75", "0.25", "0.25"]]


@dataclass(frozen=True)
class OneSided(Config):
    side: str = "O"


def test_where_one_side_is_trained_only_that_side_counts(tmp_path):
    """BEST as X with the moves of a weak O is worse, as O, than a player whose X is weak and whose O never loses."""
    is_x = positions_of(RULES).x_to_move[positions_of(RULES).unfinished][:, None]
    good_x, good_o = (
        TabularPolicy(RULES, np.where(is_x == which, BEST.table, WEAK.table))
        for which in (True, False)
    )
    run = Run(tmp_path, "somebody", OneSided(), "unbeatable", Console(file=io.StringIO()))
    run.start()
    assert reported(run, [good_x, good_o]) == [False, True]
    assert run.best_player is good_o
    assert set(run.first_reached) == {"unbeatable", "optimal"}


def test_the_name_of_a_preset_is_kept_in_configuration_and_certificate(tmp_path):
    run = Run(tmp_path, "somebody", Config(), "steps", Console(file=io.StringIO()), "weakling")
    run.start()
    reported(run, [RANDOM])
    assert (
        run.name,
        read_json(tmp_path / "config.json")["preset"],
        run.finish()["training"]["preset"],
    ) == (
        "somebody-weakling",
        "weakling",
        "weakling",
    )


def test_progress_on_a_terminal_is_a_bar_with_the_exact_figures(tmp_path):
    console = Console(file=io.StringIO(), width=150, force_terminal=True)
    reported(new_run(tmp_path, console=console, until="unbeatable"), [RANDOM, PERFECT])
    shown = console.file.getvalue()
    assert "200/400 steps" in shown
    assert f"against random, exact:  {describe(judge(PERFECT))}" in shown
    assert "\x1b[?25h" in shown, "the cursor is shown again"


def test_the_certificate_of_a_run_that_goes_on_follows_its_model(tmp_path):
    """So that a run that is killed while it goes on still fits together."""
    run = new_run(tmp_path)
    reported(run, [RANDOM])
    run.finish()
    again = Run(tmp_path, "somebody", Config(steps=900), "steps", Console(file=io.StringIO()))
    again.rows, again.best = list(run.rows), run.best
    with again:
        again(500, PERFECT, Saves())
        content = read(tmp_path)
    assert (table_of(content).table == PERFECT.table).all()
    assert content["training"]["best_at"]["steps"] == content["training"]["steps"] == 500
