"""agents/value_net.py: what its examples are, its arithmetic, what it writes, and that it learns what is known to be true from itself alone."""

import csv
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from agents import value_net
from agents.value_net import Config, Learner
from tictactoe_env.match import wilson_interval
from tictactoe_env.notation import parse_board
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training.evaluation import judge, silent

RULES = Rules()
POSITIONS = positions_of(RULES)
SMALL = Config(
    steps=600, games=200, judge_every=200, epochs=2, architecture="SaintAndre_16", match_games=50
)
NAMES = ",".join(
    [*(f"v{number}" for number in range(18)), "return"]
)  # of the columns of single results
CLASSES = 626  # of the 627 unfinished positions up to symmetry, without the empty one


def row(text):
    return int(POSITIONS.rows(parse_board(text, RULES)[None])[0])


def path(*texts):
    """A game as the column of positions that `Learner.returns` takes."""
    rows = [0, *map(row, texts)]
    return np.array(rows + [-1] * (RULES.cells + 3 - len(rows)))[:, None]


def content(file):
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def after(learner, levels):
    for _ in range(levels):
        learner.level()
    return learner


@pytest.fixture(scope="module")
def learner():
    """Two levels of a small network, from few games."""
    return after(Learner(SMALL), 2)


# --- configuration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"games": 0}, "games must be a whole number of at least 1, got 0"),
        ({"look_ahead": 3}, "look_ahead must be a whole number from 1 to 2, got 3"),
        ({"epsilons": ()}, "epsilons must be one probability or more"),
        ({"epsilons": (0.5, 1.5)}, "each of epsilons must be a probability"),
        ({"match_epsilons": ()}, "match_epsilons must be one probability or more"),
        ({"temperature": -1.0}, "temperature must be a finite number of at least 0"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be"),
        ({"learning_rate_decay": 1.1}, "learning_rate_decay must be a probability"),
        ({"dropout": 1.0}, "dropout must be below 1"),
        ({"validation": 1.0}, "validation must be below 1"),
        ({"opponent": "previos"}, "did you mean 'previous'"),
        ({"device": "gpu"}, "known: cpu, cuda"),
        ({"architecture": "Coptic_64"}, "architecture must be SaintAndre_"),
        ({"architecture": "SaintAndre_0"}, "architecture must be SaintAndre_"),
        ({"rows": 4, "cols": 4, "k": 4}, "at most 12 cells"),
    ],
)
def test_a_bad_configuration_is_refused_with_a_reason(wrong, words):
    with pytest.raises(ValueError, match=words):
        Config(**wrong)


def test_the_default_is_17_levels_of_30000_games():
    assert Config().steps == 17 * Config().games == 510_000


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("SaintAndre_1024", [(1024, 18), (1, 1024)]), ("SaintAndre_8_5", [(8, 18), (5, 8), (1, 5)])],
)
def test_the_name_of_the_network_gives_its_sizes(name, shapes):
    network = value_net.build(Config(architecture=name))
    assert [
        tuple(weights.shape) for weights in network.parameters() if weights.dim() == 2
    ] == shapes


def test_dropout_drops_units_and_not_whole_examples():
    network = value_net.build(Config(dropout=0.5)).train()
    dropped = network[2](torch.ones(64, 1024)) == 0
    assert (dropped.float().mean(dim=1) > 0.4).all()
    assert (dropped.float().mean(dim=1) < 0.6).all()


def test_the_preset_of_the_original_has_its_settings():
    config = Config(**value_net.PRESETS["learnbyplay"].options)
    assert (config.games, config.epochs, config.discount, config.architecture) == (
        30_000,
        5,
        0.95,
        "SaintAndre_1024",
    )
    assert (config.epsilons, config.dropout, config.learning_rate, config.batch_size) == (
        (0.5, 0.5, 0.1),
        0.5,
        1e-4,
        64,
    )
    assert value_net.PRESETS["learnbyplay"].weak


# --- what a game says of its positions -----------------------------------------------------------------------------------

WON = (
    "X../.../...",
    "XO./.../...",
    "XO./X../...",
    "XO./X.O/...",
    "XO./X.O/X..",
)  # by X: a1, a2, a3 against b1, c2


def test_a_result_is_discounted_once_for_each_further_move_of_its_own_side():
    returns = Learner(replace(SMALL, cut=False)).returns(path(*WON))[:6, 0]
    assert returns == pytest.approx([-(0.95**2), 0.95**2, -0.95, 0.95, -1, 1], abs=0)


def test_a_drawn_game_is_worth_nothing_everywhere():
    texts = [
        "X../.../...",
        "XO./.../...",
        "XO./X../...",
        "XO./X../O..",
        "XOX/X../O..",
        "XOX/XO./O..",
        "XOX/XOX/O..",
        "XOX/XOX/O.O",
        "XOX/XOX/OXO",
    ]
    assert not Learner(replace(SMALL, discount=0.5)).returns(path(*texts))[:10].any()


@pytest.mark.parametrize("cut", [True, False])
def test_before_a_move_that_was_not_the_best_the_best_moves_value_counts(cut):
    """X holds c3 for better than its second move a2 (0.6 and 0.3), so its first move is worth 0.95 * 0.6; O's moves are as good as any."""
    learner = Learner(replace(SMALL, cut=cut))
    learner.values = learner.exact.copy()
    learner.values[row("XO./X../...")], learner.values[row("XO./.../..X")] = 0.3, 0.6
    learner.values[row("XO./X../O..")] = learner.values[row("XO./X.O/...")] = 0.1
    returns = learner.returns(path(*WON))[:6, 0]
    assert returns == pytest.approx(
        [-(0.95**2), 0.95 * 0.6 if cut else 0.95**2, -0.95, 0.95, -1, 1], abs=0
    )


def test_random_games_meet_positions_as_often_as_random_play_reaches_them():
    results = Learner(replace(SMALL, games=40_000)).play(np.random.default_rng(0))[0]
    assert results[row("X../.../...")] / 40_000 == pytest.approx(1 / 9, abs=0.006)
    assert results[row("XO./.../...")] / 40_000 == pytest.approx(1 / 72, abs=0.003)
    assert results[[0, row("XXX/OO./...")]].tolist() == [
        0,
        0,
    ]  # nobody moves to the empty board, and finished ones are known


def test_who_plays_against_the_previous_champion_plays_other_games(learner):
    other = Learner(replace(SMALL, opponent="previous"))
    other.values, other.previous = learner.values, learner.previous
    assert (
        learner.play(np.random.default_rng(1))[0] != other.play(np.random.default_rng(1))[0]
    ).any()


# --- the player --------------------------------------------------------------------------------------------------------


def plain_move_values(learner, at, look_ahead):
    """What the moves on a board are worth, by the plainest recursion over the rules."""
    worth = {}
    for cell, child in enumerate(POSITIONS.children[at].tolist()):
        if child >= 0:
            answers = [
                learner.values[answer]
                for answer in POSITIONS.children[child].tolist()
                if answer >= 0
            ]
            worth[cell] = learner.values[child] if look_ahead == 1 or not answers else -max(answers)
    return worth


@pytest.mark.parametrize("look_ahead", [1, 2])
def test_a_move_is_worth_its_position_or_what_the_best_answer_leaves_of_it(learner, look_ahead):
    ahead = Learner(replace(SMALL, look_ahead=look_ahead))
    ahead.values = learner.values
    moves = ahead.moves(ahead.worth(ahead.values))
    for at in POSITIONS.unfinished[::50]:
        expected = plain_move_values(learner, at, look_ahead)
        assert {
            cell: value for cell, value in enumerate(moves[at].tolist()) if np.isfinite(value)
        } == expected


@pytest.mark.parametrize("look_ahead", [1, 2])
@pytest.mark.parametrize("temperature", [0.0, 0.3])
def test_exploration_temperature_and_look_ahead_go_together(learner, look_ahead, temperature):
    player = Learner(replace(SMALL, look_ahead=look_ahead))
    table = player.player(learner.values, (0.9, 0.4), temperature).by_row()
    for text, epsilon in ((".../.../...", 0.9), ("X../.../...", 0.4), ("XO./X.O/...", 0.4)):
        worth = plain_move_values(learner, row(text), look_ahead)
        values = np.array([worth.get(cell, -np.inf) for cell in range(9)])
        chosen = np.exp(values / temperature) if temperature else np.arange(9) == values.argmax()
        expected = epsilon * (values > -np.inf) / len(worth) + (1 - epsilon) * chosen / chosen.sum()
        assert table[row(text)] == pytest.approx(expected, abs=1e-12)


def test_finished_boards_count_exactly_whatever_the_network_says(learner):
    assert (
        learner.values[POSITIONS.is_over] == np.abs(POSITIONS.outcome_x[POSITIONS.is_over])
    ).all()
    assert learner.table().q_values(parse_board("XX./OO./...", RULES)[None])[0, 2] == 1


def test_images_share_their_value_only_if_they_are_asked_to(learner):
    corners = [row("X../.../..."), row(".../.../..X")]
    assert len(learner.classes) == CLASSES
    assert learner.values[corners[0]] == learner.values[corners[1]]
    alone = after(Learner(replace(SMALL, symmetry=False)), 1)
    assert len(alone.classes) == 4_519
    assert alone.values[corners[0]] != alone.values[corners[1]]


# --- the examples --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetry", [True, False])
def test_no_position_is_learned_and_held_out_at_a_level_in_whatever_image(symmetry):
    learner = Learner(replace(SMALL, symmetry=symmetry, validation=0.25))
    images, turns = POSITIONS.canonical[learner.classes], np.zeros(len(learner.classes), dtype=int)
    for level in range(4):
        held_out = learner.held_out(level)
        assert not set(images[held_out]) & set(images[~held_out])
        assert len(set(images[held_out])) / CLASSES == pytest.approx(0.25, abs=0.01)
        turns += held_out
    assert (turns == 1).all()


def test_without_held_out_positions_the_last_epoch_is_the_champion():
    last = after(Learner(replace(SMALL, validation=0.0)), 1).history[-1]
    assert last["champion"] == 2
    assert np.isnan(last["losses"][0][1])


def test_games_of_which_nothing_is_left_to_learn_are_refused(tmp_path):
    learner = Learner(replace(SMALL, validation=0.9, dataset=str(tmp_path / "one.csv")))
    unlearned = learner.classes[learner.held_out(0)][0]
    (tmp_path / "one.csv").write_text(
        f"{NAMES}\n{','.join(map(str, learner.planes[unlearned].tolist()))},1\n"
    )
    with pytest.raises(ValueError, match="all positions that the games met are held out"):
        learner.level()


def test_the_champion_has_the_least_loss_on_what_was_held_out(learner):
    for entry in after(Learner(replace(SMALL, epochs=6, learning_rate=0.02)), 3).history:
        validation = [loss for _, loss in entry["losses"]]
        assert validation[entry["champion"] - 1] == min(validation)


def test_earlier_games_count_less_from_level_to_level():
    learner = Learner(replace(SMALL, memory=0.5))
    first, second = learner.level(), learner.level()
    assert learner.results == pytest.approx(second + 0.5 * first, abs=1e-12)
    assert not (after(Learner(replace(SMALL, memory=0.0)), 1).level() != 0).all()


def test_a_network_learns_the_mean_result_of_every_position():
    learner = Learner(
        replace(
            SMALL,
            games=2_000,
            architecture="SaintAndre_128",
            epochs=20,
            batch_size=256,
            learning_rate=5e-3,
            validation=0.0,
        )
    )
    games, sums, _ = learner.level()
    often = games > 200
    assert np.abs(learner.values[often] - (sums / np.maximum(games, 1))[often]).max() < 0.1
    (training, _), least = learner.history[-1]["losses"][-1], learner.history[-1]["least"]
    assert least <= training < least + 0.02


# --- files -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    value_net.train(SMALL, silent(), logs=folder)
    return folder


def test_every_level_leaves_its_dataset_and_losses(run):
    for level in (1, 2, 3):
        dataset, losses = (
            content(run / f"level-{level:02d}" / "dataset.csv"),
            content(run / f"level-{level:02d}" / "losses.csv"),
        )
        assert list(dataset[0]) == [
            *(f"v{number}" for number in range(18)),
            "return",
            "deviation",
            "games",
        ]
        assert 200 * 4 < sum(int(line["games"]) for line in dataset) < 200 * 9
        assert list(losses[0]) == ["epoch", "train", "validation", "is_champion"]
        assert [line["is_champion"] for line in losses].count("True") == 1
    assert not (run / "level-04").exists()


def test_each_level_is_set_against_the_one_before_exactly_and_in_games(run):
    levels = content(run / "levels.csv")
    assert [line["level"] for line in levels] == ["1", "2", "3"]
    for line in levels:
        assert sum(
            float(line[f"exact_{name}"]) for name in ("wins", "losses", "draws")
        ) == pytest.approx(1, abs=1e-12)
        counts = {name: int(line[name]) for name in ("wins", "losses", "draws")}
        assert sum(counts.values()) == 100
        for name, count in counts.items():
            low, high = wilson_interval(count, 100, z=4)
            assert low < float(line[f"exact_{name}"]) < high


def test_random_play_against_itself_scores_what_is_known():
    """X wins 737/1260, O 121/420, so that either player wins (737/1260 + 121/420) / 2 of the games when they change sides."""
    wins, losses, draws = Learner(SMALL).match(0)["exact"]
    assert wins == losses == pytest.approx((737 / 1260 + 121 / 420) / 2, abs=1e-12)
    assert draws == pytest.approx(8 / 63, abs=1e-12)


def test_losses_and_levels_are_drawn(run):
    for name in ("losses.png", "levels.png"):
        assert (run / name).read_bytes().startswith(b"\x89PNG")


def test_a_run_that_goes_on_elsewhere_knows_all_its_levels(tmp_path):
    value_net.train(
        replace(SMALL, steps=400), lambda steps, table, save, notes: bool(save(tmp_path / "half"))
    )
    value_net.train(SMALL, silent(), resume=tmp_path / "half", logs=tmp_path / "logs")
    assert [line["level"] for line in content(tmp_path / "logs" / "levels.csv")] == ["1", "2", "3"]


def test_a_dataset_is_read_again_in_place_of_random_games(run, tmp_path):
    """From the random games of the first level the same network is learned, to the rounding of the means."""
    again = Learner(replace(SMALL, dataset=str(run / "level-01" / "dataset.csv")))
    plain = Learner(SMALL)
    expected = plain.play(np.random.default_rng([SMALL.seed, 0]))
    assert again.level() == pytest.approx(expected, abs=1e-9)
    assert (again.level()[0].sum() > 0) & (
        len(again.history) == 2
    )  # the second level plays its own games


def test_single_results_are_read_as_the_original_writes_them(tmp_path):
    """Positions of both sides; the empty and finished boards are left out."""
    file, planes = tmp_path / "dataset.csv", Learner(SMALL).planes
    texts = [
        ("X../.../...", 1),
        ("X../.../...", 0.5),
        ("XO./.../...", -0.95),
        ("XXX/OO./...", 1),
        (".../.../...", 0),
    ]
    lines = [",".join(f"v{number}" for number in range(18)) + ",return"]
    lines += [",".join(map(str, [*planes[row(text)].tolist(), result])) for text, result in texts]
    file.write_text("\n".join(lines) + "\n")
    results = value_net.read_dataset(file, Learner(SMALL))
    assert results[:, row("X../.../...")].tolist() == [2, 1.5, 1.25]
    assert results[:, row("XO./.../...")] == pytest.approx([1, -0.95, 0.9025], abs=1e-15)
    assert results[0].sum() == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must have the columns v0, v1"),
        ("a,b\n1,2\n", "must have the columns v0, v1"),
        (f"{NAMES}\n1,2\n", "must hold a number in each column"),
        (f"{NAMES}\n{'x,' * 18}1\n", "must hold a number in each column"),
        (f"{NAMES}\n{'1,' * 18}1\n", "cannot reach|must hold boards"),
        (f"{NAMES}\n1,{'0,' * 17}nan\n", "must hold boards"),
        (f"{NAMES}\n{'0,' * 18}1\n", "at least one unfinished board"),
        (f"{NAMES}\n", "at least one unfinished board"),
    ],
)
def test_a_dataset_that_is_none_is_refused_with_a_reason(tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        value_net.read_dataset(tmp_path / "bad.csv", Learner(SMALL))


# --- learning ----------------------------------------------------------------------------------------------------------


def best_against_exploring(epsilons, discount):
    """What every position is worth to the side that has just moved there, if it makes its best moves and the other also random ones."""
    children = [[child for child in cells if child >= 0] for cells in POSITIONS.children.tolist()]

    @cache
    def value(at):
        if POSITIONS.is_over[at]:
            return float(abs(POSITIONS.outcome_x[at]))
        left = [
            -value(answer)
            if POSITIONS.is_over[answer]
            else discount * max(map(value, children[answer]))
            for answer in children[at]
        ]
        epsilon = epsilons[min(int(POSITIONS.ply[at]), len(epsilons) - 1)]
        best = max(range(len(left)), key=lambda i: value(children[at][i]))
        return (1 - epsilon) * left[best] + epsilon * sum(left) / len(left)

    return np.array([value(at) for at in range(len(POSITIONS))])


def test_the_values_that_the_default_exploration_defines_are_of_a_player_at_both_limits():
    learner = Learner(SMALL)
    learner.evaluate = lambda: best_against_exploring(SMALL.epsilons, SMALL.discount)
    assert judge(learner.table()).optimal


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_is_unbeatable_on_both_sides_after_all_17_levels(seed):
    """With nobody but itself to learn from. An untrained network loses most of its games as O."""
    seen = []
    table = value_net.train(
        Config(seed=seed), lambda steps, table, save, notes: bool(seen.append(steps))
    )
    assert seen == [30_000 * level for level in range(1, 18)]
    assert judge(table).unbeatable
    expected = best_against_exploring(Config().epsilons, Config().discount)
    assert table.values[0] == pytest.approx(expected[POSITIONS.children[0]], abs=0.05)


@pytest.mark.slow
def test_it_learns_a_board_that_is_not_square():
    """Three in a row on two rows of five is drawn with best play; 15,983 positions."""
    assert judge(value_net.train(Config(rows=2, cols=5), silent("unbeatable"))).unbeatable
