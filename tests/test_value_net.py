"""agents/value_net.py: its examples, its arithmetic, and that it learns from itself alone."""

import numpy as np
import pytest
from learners import POSITIONS, row
from text_cases import called, refuses

import evaluate
from agents.value_net import LEVEL, Config, begin, expected_results
from tictactoe_env.exact.match import exact_result
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.notation import replay
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules, game_state
from training.checkpoint import restore, save
from training.files import write_csv
from training.selfplay import ExploringPolicy

SMALL = Config(steps=600, games=200, judge_every=200, hidden=(16,), epochs=2)
LITTLE = Rules(2, 3, 2)
WON = ("X../.../...", "XO./.../...", "XO./X../...", "XO./X.O/...", "XO./X.O/X..")


def after(levels, **changes):
    learner = begin(SMALL.replace(**changes))
    learner.advance(levels * 200)
    return learner


@pytest.fixture(scope="module")
def learner():
    return after(3, temperature=0.05)


@pytest.mark.parametrize(("cut", "first"), [(True, 0.95 * 0.6), (False, 0.95**2)])
def test_results_are_discounted_and_cut_before_a_move_that_was_not_the_best(cut, first):
    """X values c3 more than its second move a2, 0.6 and 0.3; O's moves are as good as any."""
    learner = begin(SMALL.replace(cut=cut))
    path = np.array([0, *map(row, WON), *[-1] * 6])[:, None]
    plain = [-(0.95**2), 0.95**2, -0.95, 0.95, -1, 1]
    nothing = np.zeros(len(POSITIONS))
    assert learner.returns(path, nothing)[:6, 0] == pytest.approx(plain, abs=0)
    values = learner.afterstates.exact.copy()
    places = [row(text) for text in ("XO./X../...", "XO./.../..X", "XO./X../O..", "XO./X.O/...")]
    values[places] = 0.3, 0.6, 0.1, 0.1
    found = learner.returns(path, values)[:6, 0]
    assert found == pytest.approx([plain[0], first, *plain[2:]], abs=0)


@pytest.mark.parametrize(("look_ahead", "temperature"), [(1, 0.0), (2, 0.3)])
def test_exploration_temperature_and_look_ahead_work_together(learner, look_ahead, temperature):
    """A move has the value of its position, or what the best answer leaves of it."""
    states = begin(SMALL.replace(look_ahead=look_ahead)).afterstates
    network = learner.network
    values = learner.afterstates.values(network)
    moves = states.of_moves(states.values(network))
    policy = states.policy(states.values(network))
    player = policy.softmax(temperature) if temperature else policy
    table = tabulate(ExploringPolicy(player, (0.9, 0.4), POSITIONS.rules), POSITIONS.rules).by_row()
    for at in POSITIONS.unfinished[::50].tolist():
        expected = np.full(9, -np.inf)
        for cell, child in enumerate(POSITIONS.children[at].tolist()):
            if child >= 0:
                answers = [values[end] for end in POSITIONS.children[child].tolist() if end >= 0]
                ends = look_ahead == 1 or not answers
                expected[cell] = values[child] if ends else -max(answers)
        assert moves[at].tolist() == expected.tolist()
        legal = expected > -np.inf
        epsilon = 0.4 if at else 0.9
        best = np.arange(9) == expected.argmax()
        chosen = np.exp(expected / temperature) if temperature else best
        probs = epsilon * legal / legal.sum() + (1 - epsilon) * chosen / chosen.sum()
        assert table[at] == pytest.approx(probs, abs=1e-6)


def test_every_epoch_and_level_is_in_a_table_also_after_a_pause(learner, tmp_path):
    """The games against random play are 500 on each side, and close to what is expected."""
    save(tmp_path, "value_net", learner.config, learner)
    again = begin(learner.config)
    restore(tmp_path, "value_net", learner.config, again)
    tables = again.tables()
    assert tables == learner.tables()
    losses, levels, games = (tables[f"{name}.csv"].rows for name in ("losses", "levels", "games"))
    assert [row[:2] for row in losses] == [[1, 1], [2, 1], [3, 2], [4, 2], [5, 3], [6, 3]]
    for level, *found in levels:
        assert found[:2] == min((row[2:] for row in losses if row[1] == level), key=max)
        assert sum(found[2:]) == pytest.approx(1)
    assert dict(zip(LEVEL, levels[-1], strict=True)) == learner.notes()
    x, o = (exact_result(learner.policy(), RandomPolicy(), side=side) for side in "XO")
    expected = [500 * (x.win + o.win), 500 * (x.draw + o.draw), 500 * (x.loss + o.loss)]
    assert [row[1] for row in games] == pytest.approx(expected)
    assert sum(row[2] for row in games) == 1000
    assert [row[2] for row in games] == pytest.approx(expected, abs=60)


def test_the_champion_has_the_least_loss_on_what_was_held_out_or_is_the_last():
    """A longer training has a champion that is as good."""
    losses = [after(1, epochs=n, learning_rate=0.02).notes() for n in range(1, 7)]
    validation = [one["validation_loss"] for one in losses]
    assert validation == sorted(validation, reverse=True)
    assert len({*validation}) < 6, "an epoch that was not the best"
    assert np.isnan(after(1, validation=0.0).notes()["validation_loss"])


def test_earlier_games_count_less_at_each_level():
    learner = after(1, memory=0.5)
    games = learner.results.games.sum()
    learner.advance(1)
    assert learner.results.games.sum() == pytest.approx(1.5 * games, rel=0.2)


def plain_games(players, cells=(), share=1.0):
    """The games of two players on 2x3, 2 in a row: their cells and their probabilities."""
    now = game_state(list(cells), LITTLE)
    if now.mover is None:
        yield cells, share
        return
    probs = players[len(cells) % 2].probs(now.board[None])[0]
    for cell in np.flatnonzero(probs).tolist():
        yield from plain_games(players, (*cells, cell), share * probs[cell])


def test_expected_results_are_those_of_all_games_of_two_players(tmp_path, capsys):
    learner = begin(Config(rows=2, cols=3, k=2, cut=False, symmetry=False))
    states = learner.afterstates
    names = ["random", "minimax-slip=0.5"]
    players = [make_opponent(name, LITTLE) for name in names]
    nothing = np.zeros(len(states.positions))
    for pair in (players, players[::-1]):
        games, sums = np.zeros((2, len(states.classes)))
        for cells, share in plain_games(pair):
            path = np.full((LITTLE.cells + 3, 1), -1)
            path[: len(cells) + 1, 0] = states.positions.rows(replay(cells, LITTLE))
            places = states.index[path[1 : len(cells), 0]] - 1  # without the end
            games[places] += share
            sums[places] += share * learner.returns(path, nothing)[1 : len(cells), 0]
        found = expected_results(states, *pair)
        assert found.games == pytest.approx(games)
        assert found.sums == pytest.approx(sums)
    file = tmp_path / "pair.csv"
    words = [*names, "--board", "3x3x3", "--games", "50", "--expectations", str(file)]
    assert called(evaluate, words, capsys)[0] == 0
    assert after(1, dataset=str(file)).results.games.max() == pytest.approx(50 * 4 / 9)  # corners


@pytest.mark.parametrize(("epsilons", "first"), [((), 50), (("--epsilons", "1,0"), 50 * 4 / 9)])
def test_a_file_has_the_positions_of_games_of_two_players_and_no_others(
    epsilons, first, tmp_path, capsys
):
    """Both open in a corner, or with a random first move in one of 4 corners of 9 cells."""
    file = tmp_path / "pair.csv"
    names = ["minimax-first", "tictacnet"]
    words = [*names, "--games", "50", "--expectations", str(file), *epsilons]
    assert called(evaluate, words, capsys)[0] == 0
    players = [make_opponent(name, Rules()) for name in names]
    met = set()
    for pair in (players, players[::-1]):
        for opening in range(9) if epsilons else (None,):
            cells = [] if opening is None else [opening]
            while (now := game_state(cells, Rules())).mover is not None:
                met.add(int(POSITIONS.canonical[POSITIONS.rows(now.board[None])][0]))
                cells.append(int(pair[len(cells) % 2].probs(now.board[None])[0].argmax()))
    found = after(1, dataset=str(file)).results.games
    assert np.count_nonzero(found) == len(file.read_text().splitlines()) - 1 == len(met - {0})
    assert found.max() == pytest.approx(first)


def test_a_training_begins_from_the_network_of_a_run_of_the_same_size_and_board(tmp_path):
    first = after(2)
    save(tmp_path, "value_net", first.config, first)
    again = after(1, network=str(tmp_path), seed=1, learning_rate=1e-12, epsilons=(0.0,))
    for name, weights in first.model().items():
        assert again.model()[name] == pytest.approx(weights, abs=1e-6)
    match = again.notes()
    assert match["won"] == pytest.approx(match["lost"]), "it met itself"
    for changes, mentions in (({"hidden": (8,)}, "16 8"), ({"cols": 4}, "3x3 3x4")):
        with refuses("hidden" if "hidden" in changes else "rules", *mentions.split()):
            after(1, network=str(tmp_path), **changes)
    with refuses("no/run", error=FileNotFoundError):
        after(1, network="no/run")


def test_the_first_level_learns_the_dataset_of_another_run_and_no_other_file(tmp_path):
    """Rows may be missing, symmetric or twice there; of finished boards nothing is learned."""
    level = after(1, seed=3, games=8)
    path = tmp_path / "dataset.csv"
    table = level.tables()["dataset.csv"]
    assert all(line[-1] > 0 for line in table.rows)
    turned = [[*line[8::-1], *line[17:8:-1], *line[18:]] for line in table.rows]
    finished = [*[1] * 3, *[0] * 9, 1, 1, *[0] * 4, 1, 5]
    write_csv(path, table.names, [*table.rows, *turned, finished])
    again = after(1, dataset=str(path))
    assert again.results.games == pytest.approx(2 * level.results.games, abs=1e-9)
    assert again.results.sums == pytest.approx(2 * level.results.sums, abs=1e-9)
    first = table.rows[0]
    wrong = [[*first[:-1], np.nan], [*first[:-1], -1], [*first[:-2], 2, 1], first[1:], ["a"]]
    wrong += [[*[1] * 18, 0, 1], [*[1] * 9, *[0] * 9, 0, 1]]
    for rows in ([], *([line] for line in wrong)):
        write_csv(path, table.names, rows)
        with refuses(path):
            after(1, dataset=str(path))
