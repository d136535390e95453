"""agents/neuroevolution.py: the league against games played one by one, its fitness, what a generation changes, and how well it plays."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from agents import neuroevolution
from agents.neuroevolution import (
    DRAWN,
    NOT_PLAYED,
    O_OUT,
    O_WON,
    PRESETS,
    X_OUT,
    X_WON,
    Config,
    Evolution,
    Shape,
    points,
)
from tictactoe_env import match
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.rules import Rules
from training.evaluation import judge, silent

RULES = Rules()
SMALL = Config(league=12, winners=4, steps=20, judge_every=10, seed=3)
VARIANTS = {
    "default": SMALL,
    "no symmetry, grid": replace(
        SMALL,
        symmetry=False,
        inputs="grid",
        direct=False,
        activation="sigmoid",
        hidden=15,
        rebirth=0.0,
    ),
    "linear": replace(SMALL, hidden=0, league=9, rebirth=0.0),
    "rectangle": replace(SMALL, rows=2, cols=4, activation="tanh", rebirth=0.0),
    "masked": replace(SMALL, masks=True, league=9),
}


def evolved(config, generations=3):
    evolution = Evolution(config)
    evolution.begin()
    for _ in range(generations):
        evolution.advance()
    return evolution


@pytest.fixture(scope="module", params=VARIANTS)
def evolution(request):
    return evolved(VARIANTS[request.param])


def plain_game(x, o, rules):
    """How a game of two players ends and the marks on the board then, move by move by the rules."""
    board = np.zeros(rules.cells, dtype=np.int8)
    for ply in range(rules.cells):
        cell = int((x, o)[ply % 2].probs(board[None])[0].argmax())
        if board[cell]:
            return (X_OUT, O_OUT)[ply % 2], ply
        board[cell] = (1, -1)[ply % 2]
        if rules.has_line(rules.to_bits(board[None])[ply % 2])[0]:
            return (X_WON, O_WON)[ply % 2], ply + 1
    return DRAWN, rules.cells


# --- the game by look-up -------------------------------------------------------------------------------------------------


def test_a_league_by_look_up_is_the_games_played_one_by_one(evolution):
    ground, rules = evolution.ground, evolution.config.rules
    players = [ground.policy(moves) for moves in evolution.moves]
    ends, lengths = ground.league(ground.ways(evolution.moves))
    for x, player in enumerate(players):
        for o, other in enumerate(players):
            expected = (NOT_PLAYED, 0) if x == o else plain_game(player, other, rules)
            assert (ends[x, o], lengths[x, o]) == expected
    games = len(players) * (len(players) - 1)
    *by_length, disqualified = evolution.history[-1]
    assert sum(by_length) == games
    assert by_length == [int((lengths == length).sum()) for length in range(1, rules.cells + 1)]
    assert disqualified == int(np.isin(ends, (X_OUT, O_OUT)).sum())
    assert not (evolution.config.masks and disqualified)


@pytest.mark.parametrize("name", ["random", "minimax", "minimax-slip=0.6"])
def test_exact_fitness_is_the_exact_result_of_both_sides(evolution, name):
    ground, rules = evolution.ground, evolution.config.rules
    found = ground.results(ground.ways(evolution.moves), ground.opponent(name), 2.0)
    for moves, result in zip(evolution.moves, found, strict=True):
        sides = [
            match.exact_result_as(side, ground.policy(moves), make_opponent(name, rules), rules)
            for side in "XO"
        ]
        assert result == pytest.approx(
            np.mean([side.value - side.illegal for side in sides]), abs=1e-12
        )


def test_a_network_that_slips_has_the_exact_result_of_its_mixture_with_random_play(evolution):
    ground, rules = evolution.ground, evolution.config.rules
    found = ground.results(ground.ways(evolution.moves), ground.opponent("minimax"), 2.0, 0.25)
    for moves, result in zip(evolution.moves, found, strict=True):
        player = TabularPolicy(
            rules, 0.75 * ground.policy(moves).table + 0.25 * tabulate(RandomPolicy(), rules).table
        )
        sides = [
            match.exact_result_as(side, player, make_opponent("minimax", rules), rules)
            for side in "XO"
        ]
        assert result == pytest.approx(
            np.mean([side.value - side.illegal for side in sides]), abs=1e-12
        )


def test_a_reborn_unit_knows_one_position_and_speaks_for_one_cell():
    evolution = Evolution(replace(SMALL, hidden=4, rebirth=1.0))
    evolution.begin()
    before = evolution.networks.copy()
    evolution._bear(np.array([3]))
    assert (np.delete(evolution.networks, 3, axis=0) == np.delete(before, 3, axis=0)).all()
    hidden, output, _ = evolution.shape.layers(evolution.networks[3])
    (unit,) = np.flatnonzero((hidden != evolution.shape.layers(before[3])[0]).any(axis=0))
    heard = evolution.ground.inputs @ hidden[:, unit]
    assert heard.max() == pytest.approx(1)
    assert (np.isclose(heard, 1)).sum() == 1, "no other position is heard as loudly"
    assert np.count_nonzero(output[unit]) == 1


def test_the_worst_game_is_a_lost_one_where_there_is_any(evolution):
    """A position in which the network has to move, of a game that can be played against the opponent."""
    ground = evolution.ground
    places = ground.worst(
        ground.ways(evolution.moves), ground.opponent("random"), 2.0, 0.0, np.random.default_rng(0)
    )
    assert places.shape == (len(evolution.moves),)
    assert ((places >= 0) & (places < ground.size)).all()


def test_fitness_is_the_weighted_mean_over_opponents_and_kinds():
    evolution = evolved(
        replace(
            SMALL,
            fitness="exact:3,punished:1",
            opponents="random:3,minimax:1",
            illegal_penalty=1.0,
            slip=0.0,
        )
    )
    ground = evolution.ground
    ways = ground.ways(evolution.moves)
    random, minimax = (
        ground.results(ways, ground.opponent(name), 1.0) for name in ("random", "minimax")
    )
    league = points(ground.league(ways)[0], 1, 1, 0, -10)
    assert evolution.fitness == pytest.approx(
        0.75 * (0.75 * random + 0.25 * minimax) + 0.25 * league, abs=1e-12
    )


def test_points_are_those_of_the_games_of_a_member_on_both_sides():
    ends = np.array(
        [[NOT_PLAYED, X_WON, O_OUT], [DRAWN, NOT_PLAYED, O_WON], [X_OUT, DRAWN, NOT_PLAYED]]
    )
    assert points(ends, 3, 1, 0, 0).tolist() == [
        (3 + 3 + 1 + 3) / 4,
        (1 + 0 + 0 + 1) / 4,
        (0 + 1 + 0 + 3) / 4,
    ]
    assert points(ends, 1, 1, 0, -10).tolist() == [
        (1 + 1 + 1 + 1) / 4,
        (1 + 0 + 0 + 1) / 4,
        (-10 + 1 - 10 + 1) / 4,
    ]


def test_a_network_gives_the_sums_of_its_layers():
    config = replace(SMALL, hidden=2, rows=1, cols=3, k=2)
    shape = Shape(config, inputs=7)
    assert shape.sizes == [(7, 2), (3, 3), (7, 3)]
    network = np.arange(44, dtype=np.float32) - 20
    hidden, output, direct = (
        network[:14].reshape(7, 2),
        network[14:23].reshape(3, 3),
        network[23:].reshape(7, 3),
    )
    board = np.array([1, 0, 0, 0, 1, 0, 1], dtype=np.float32)
    units = [max(0.0, float(board @ hidden[:, unit])) for unit in range(2)]
    expected = [
        units[0] * output[0, cell]
        + units[1] * output[1, cell]
        + output[2, cell]
        + board @ direct[:, cell]
        for cell in range(3)
    ]
    assert shape.likes(network, board[None])[0].tolist() == expected


# --- a generation --------------------------------------------------------------------------------------------------------


def test_winners_survive_to_the_byte_and_the_others_are_changed_clones_of_them(evolution):
    config, before = evolution.config, evolution.networks.copy()
    winners = evolution.ranking()[: config.winners]
    evolution.advance()
    assert evolution.networks[: config.winners].tobytes() == before[winners].tobytes()
    cells = config.rules.cells
    for clone, magnitude in zip(
        evolution.networks[config.winners :], evolution.magnitudes[config.winners :], strict=True
    ):
        changes = np.abs((clone - before[winners]) / evolution.shape.scale)
        changed = np.count_nonzero(changes, axis=1).min()
        reborn = (
            config.rebirth and changed <= evolution.ground.inputs.shape[1] + cells
        )  # the weights of one hidden unit
        assert changes.max(axis=1).min() > 0
        assert reborn or changes.max(axis=1).min() <= 1.001 * magnitude


def test_without_adaptation_every_mutation_has_the_same_magnitude_and_share():
    evolution = evolved(
        replace(SMALL, adaptation=0.0, mutation=0.25, mutation_share=0.5, rebirth=0.0)
    )
    assert set(evolution.magnitudes) == {0.25}
    assert set(evolution.shares) == {0.5}
    assert len(set(evolved(SMALL).magnitudes)) > 4


def test_the_youngest_of_equals_goes_first_and_only_one_of_them_if_winners_are_distinct():
    evolution = evolved(replace(SMALL, league=6, winners=2), 0)
    evolution.fitness = np.array([0.5, 0.7, 0.5, 0.7, 0.1, 0.5])
    assert evolution.ranking().tolist() == [3, 5, 4, 1, 2, 0]
    evolution.config = replace(evolution.config, distinct=False)
    assert evolution.ranking().tolist() == [3, 1, 5, 2, 0, 4]


def test_the_best_exact_fitness_never_falls():
    evolution = evolved(SMALL, 0)
    best = [float(evolution.fitness.max())]
    for _ in range(30):
        evolution.advance()
        best.append(float(evolution.fitness.max()))
    assert best == sorted(best)
    assert best[-1] > best[0]


# --- options, presets, files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_the_experiments_of_the_blog_run_and_are_labelled_weak(name):
    config = Config(**{**PRESETS[name].options, "steps": 2, "judge_every": 1})
    notes = []
    neuroevolution.train(config, lambda steps, table, save, found=None: bool(notes.append(found)))
    assert len(notes) == 2
    assert 0 < notes[0]["disqualified"] <= 1
    assert PRESETS[name].weak


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fitness": "footbal"}, "did you mean 'football'"),
        ({"opponents": "minimx"}, "did you mean 'minimax'"),
        ({"activation": "Relu"}, "did you mean 'relu'"),
        ({"inputs": "plane"}, "did you mean 'planes'"),
        ({"winners": 100}, "winners must be a whole number from 1 to 99"),
        ({"league": 1}, "league must be a whole number of at least 2"),
        ({"mutation": 0.0}, "mutation must be above 0"),
        ({"mutation_share": 0.0}, "mutation_share must be above 0"),
        ({"illegal_penalty": float("nan")}, "illegal_penalty must be a finite number"),
        ({"hidden": 0}, "rebirth needs hidden units"),
        ({"fitness": "football"}, "an exact fitness: set it to 0"),
        ({"rows": 4, "cols": 4}, "at most 12 cells"),
    ],
)
def test_options_that_make_no_sense_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Config(**change)


def test_the_league_is_charted_from_its_first_generation_also_when_a_run_goes_on(tmp_path):
    def report(steps, table, save, notes=None):
        save(tmp_path / "half")
        return steps == 10

    neuroevolution.train(SMALL, report)
    neuroevolution.train(SMALL, silent(), resume=tmp_path / "half", logs=tmp_path)
    with open(tmp_path / "league.csv", newline="") as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert [row["generation"] for row in rows] == list(range(21))
    assert all(sum(row[f"length_{length}"] for length in range(1, 10)) == 12 * 11 for row in rows)
    assert all(0 <= row["disqualified"] <= 12 * 11 for row in rows)
    assert all(
        (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        for name in ("lengths", "disqualified")
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101])
def test_it_learns_the_rules_and_to_win_as_x(seed):
    """A random network makes an illegal move in almost all of its games."""
    table = neuroevolution.train(Config(seed=seed, steps=3_000, judge_every=3_000), silent())
    figures = judge(table)
    assert figures.x.illegal == figures.o.illegal == 0
    assert figures.x.win >= 0.9
