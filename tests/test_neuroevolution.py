"""agents/neuroevolution.py: the league against games played one by one, and what it selects."""

from types import SimpleNamespace

import numpy as np
import pytest
from text_cases import refuses

from agents import neuroevolution, presets
from agents.neuroevolution import Config, Games, begin
from apps.terminal.experiments import experiment_of
from tictactoe_env.exact.best_response import best_responses
from tictactoe_env.exact.match import exact_result
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.exact.values import EndValues
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Outcome, game_state

SMALL = Config(league=12, winners=4, steps=20, judge_every=10, seed=3, respond_every=3)
EVEN = EndValues(win=1, draw=0, loss=-1, illegal=-2)
CARELESS = SimpleNamespace(probs=lambda boards: np.full(boards.shape, 1 / boards.shape[1]))
PLAIN = SMALL.replace(symmetry=False, inputs="grid", rebirth=0.0)
VARIANTS = {
    "default": SMALL,
    "no symmetry, grid": PLAIN.replace(direct=False, activation="sigmoid", hidden=15),
    "linear": SMALL.replace(hidden=0, rows=2, cols=4, rebirth=0.0, scaled=False),
}


def evolved(config, generations=3):
    evolution = begin(config)
    evolution.advance(generations)
    return evolution


@pytest.fixture(scope="module", params=VARIANTS)
def evolution(request):
    return evolved(VARIANTS[request.param])


def plain_game(x, o, rules):
    """The outcome of a game for X and the marks on the board at its end, by the rules."""
    cells = []
    while not (found := game_state(cells, rules)).ended:
        board = np.array(found.board, dtype=np.int8)[None]
        cells.append(int((x, o)[len(cells) % 2].probs(board)[0].argmax()))
    outcomes = {
        ("line", "X"): Outcome.WIN,
        ("line", "O"): Outcome.LOSS,
        ("illegal", "X"): Outcome.OPPONENT_ILLEGAL,
        ("illegal", "O"): Outcome.ILLEGAL,
    }
    return outcomes.get((found.ended, found.winner), Outcome.DRAW), len(found.moves)


def test_a_league_by_look_up_is_the_games_played_one_by_one(evolution):
    seen, rules = evolution.seen, evolution.config.rules
    players = [seen.policy(moves) for moves in evolution.moves]
    games = evolution.games.league(evolution.moves)
    lengths = []
    for x, player in enumerate(players):
        for o, other in enumerate(players):
            end, length = (Outcome.ONGOING, 0) if x == o else plain_game(player, other, rules)
            assert games.ends[x, o] == end
            lengths.append(length)
    by_length = [lengths.count(length) for length in range(1, rules.cells + 1)]
    counts = [int((games.ends == end).sum()) for end in Outcome]
    _, x_won, drawn, o_won, *illegal = counts
    by_result = [x_won, drawn, o_won, sum(illegal)]
    assert (games.lengths.tolist(), games.results) == (by_length, by_result)
    assert evolution.history[-1] == [len(evolution.history) - 1, *by_result, *by_length]


@pytest.mark.parametrize(
    ("name", "slip"), [("random", 0.0), ("minimax-slip=0.6", 0.25), (CARELESS, 0.0)]
)
def test_exact_fitness_is_the_exact_result_of_the_network_and_its_slips(evolution, name, slip):
    seen, rules = evolution.seen, evolution.config.rules
    opponent, random = make_opponent(name, rules), tabulate(RandomPolicy(), rules).table
    found = Games(seen, EVEN, slip).results(evolution.moves, seen.probs(opponent))
    for moves, result in zip(evolution.moves, found, strict=True):
        player = TabularPolicy(rules, (1 - slip) * seen.policy(moves).table + slip * random)
        sides = [exact_result(player, opponent, rules, side=side) for side in "XO"]
        expected = np.mean([side.value - side.illegal for side in sides])
        assert result == pytest.approx(expected, abs=1e-12)


def test_winners_survive_to_the_byte_and_the_others_are_changed_clones_of_them(evolution):
    config, before = evolution.config, evolution.networks.copy()
    winners = evolution.ranking()[: config.winners]
    kept = evolution.names[winners].tolist()
    evolution.generation()
    clones = [[evolution.history[-1][0], number] for number in range(config.winners, config.league)]
    assert evolution.names.tolist() == kept + clones
    assert evolution.networks[: config.winners].tobytes() == before[winners].tobytes()
    clones = evolution.networks[config.winners :], evolution.magnitudes[config.winners :]
    unit = evolution.seen.inputs.shape[1] + config.rules.cells  # weights of a hidden unit
    for clone, magnitude in zip(*clones, strict=True):
        changes = np.abs((clone - before[winners]) / evolution.layout.scale)
        assert changes.max(axis=1).min() > 0
        is_reborn = config.rebirth and np.count_nonzero(changes, axis=1).min() <= unit
        assert is_reborn or changes.max(axis=1).min() <= 1.001 * magnitude


@pytest.mark.parametrize("name", presets("neuroevolution"))
def test_the_experiments_of_the_blog_run_and_are_labelled_weak(name):
    evolution = evolved(Config(**{**presets("neuroevolution")[name].options, "league": 60}), 2)
    assert 0 < evolution.notes()["disqualified"] <= presets("neuroevolution")[name].weak


def test_each_member_of_the_league_has_a_name_and_the_results_of_its_games(evolution):
    seen, rules = evolution.seen, evolution.config.rules
    names = [f"e{born}i{number}" for born, number in evolution.names.tolist()]
    players = dict(zip(names, map(seen.policy, evolution.moves), strict=True))
    table = evolution.tables()["league_members.csv"]
    assert [row[1] for row in table.rows] == sorted(evolution.fitness, reverse=True)
    columns = {Outcome.WIN: 0, Outcome.DRAW: 1, Outcome.LOSS: 2}
    columns |= {Outcome.ILLEGAL: 3, Outcome.OPPONENT_ILLEGAL: 0}
    for name, _, *results in table.rows:
        counts = [0] * 4
        for other in players.keys() - {name}:
            as_x, _ = plain_game(players[name], players[other], rules)
            as_o, _ = plain_game(players[other], players[name], rules)
            counts[columns[as_x]] += 1
            counts[columns[as_o.of_other_side]] += 1
        assert results == counts


def test_points_of_ones_own_decide_and_are_refused_where_they_would_not_count():
    draws = evolved(SMALL.replace(fitness="points", game_points=(0.0, 1.5, 0.0, -3.0)))
    for _, fitness, _, drawn, _, disqualified in draws.tables()["league_members.csv"].rows:
        assert fitness == pytest.approx((1.5 * drawn - 3 * disqualified) / 22)
    football, same = (evolved(SMALL.replace(fitness=name)) for name in ("football", "points"))
    assert (football.networks == same.networks).all()
    own = {"game_points": (2.0, 1.0, 0.0, -5.0)}
    with refuses("--game-points", "--fitness exact"):
        SMALL.replace(**own)
    for preset in (None, *presets("neuroevolution")):
        config = experiment_of(neuroevolution, {"preset": preset, **own}).config
        assert (config.fitness, config.game_points) == ("points", own["game_points"])
        with refuses("--game-points", "--fitness punished"):
            experiment_of(neuroevolution, {"preset": preset, "fitness": "punished", **own})


@pytest.mark.parametrize("slip", [0.0, 0.25])
def test_a_best_response_leaves_a_network_no_more_than_any_opponent_can(evolution, slip):
    """match.best_responses is computed by other code: its value is the smallest possible."""
    seen, rules = evolution.seen, evolution.config.rules
    games = Games(seen, EndValues(), slip)
    rng = np.random.default_rng(0)
    for moves in evolution.moves[:4]:
        response = games.best_response(moves, rng)
        assert seen.legal[np.arange(seen.size), response].all()
        slips = slip * tabulate(RandomPolicy(), rules).table
        met = TabularPolicy(rules, (1 - slip) * seen.policy(moves).table + slips)
        opponent = seen.policy(response)
        for side, worst in best_responses(met, rules).items():
            found = exact_result(met, opponent, rules, side=side).value
            assert found == pytest.approx(worst.value, abs=1e-12)


def test_best_responses_to_the_winners_join_the_opponents_and_the_oldest_leaves():
    evolution = begin(SMALL.replace(responses=3, respond_every=2, response_share=0.25, slip=0.0))
    (random,) = evolution.opponents()
    evolution.advance(9)
    before = evolution.responses
    evolution.advance(1)
    assert len(before) == 3
    assert (evolution.responses[:2] == before[1:]).all()
    plays = (evolution.responses[:, :, None] == np.arange(9)).sum(axis=0)
    assert evolution.opponents()[0] == pytest.approx(0.75 * random + 0.25 * plays / 3, abs=1e-12)
