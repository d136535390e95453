"""What people bring in is proven as it plays, or refused: players, functions and networks."""

import functools

import gymnasium as gym
import numpy as np
import pytest
import torch
from oracles.plain_game import Player
from sample_players import FixedPlayer, LineCounter, random_table
from text_cases import refuses

from tictactoe_env import FunctionPolicy, TabularPolicy, snapshot, tabulate
from tictactoe_env.certificates.certificate import certify, met_positions, policy_in
from tictactoe_env.certificates.reach import ReachPolicy
from tictactoe_env.exact.best_response import best_responses
from tictactoe_env.exact.evaluation import evaluate, exploitability
from tictactoe_env.exact.match import exact_result
from tictactoe_env.exact.optimality import optimal_share
from tictactoe_env.exact.provable import is_believed, provable
from tictactoe_env.exact.responses import best_response_player
from tictactoe_env.exact.round_robin import payoffs
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.opponents import text_of
from tictactoe_env.policy import (
    CanonicalPolicy,
    GreedyPolicy,
    RandomPolicy,
    as_policy,
    one_hot,
    plays_symmetrically,
)
from tictactoe_env.predict_policy import PredictPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.search.alphabeta import SearchPolicy
from tictactoe_env.search.mcts import MCTSPolicy
from tictactoe_env.text import TextPolicy

SMALL, BIG = Rules(), Rules(4, 4, 4)
NO_FUNCTION = "no function of the board"


class Model:
    """Takes the lowest cell of its observation that is free."""

    def predict(self, seen, deterministic):
        return np.argmin(seen[:, :9] + seen[:, 9:], axis=1), None


def first_free(seen, masks):
    return masks.argmax(axis=1)


def made(kind):
    """A player of a class of the package, on 3x3."""
    arguments = {
        TabularPolicy: lambda: (SMALL, random_table(SMALL).table),
        FunctionPolicy: lambda: (first_free, SMALL),
        CanonicalPolicy: lambda: (FixedPlayer(0), SMALL),
        GreedyPolicy: lambda: (FixedPlayer(0),),
        PredictPolicy: lambda: (Model(), SMALL),
        ReachPolicy: lambda: (met_positions(FixedPlayer(0), SMALL), SMALL),
        TextPolicy: lambda: (lambda prompts: ["a1"] * len(prompts), SMALL),
    }
    return kind(*arguments.get(kind, lambda: (SMALL,))())


KINDS = [
    *(TabularPolicy, RandomPolicy, FunctionPolicy, CanonicalPolicy, GreedyPolicy, PredictPolicy),
    *(ReachPolicy, TextPolicy, MinimaxPolicy, SearchPolicy, MCTSPolicy),
]


def games(player, **count):
    """The boards of an environment after the opponent's first move, as text."""
    make = gym.make_vec if count else gym.make
    env = make("tictactoe_env/TicTacToe-v0", opponent=player, side="O", **count)
    seen = [env.reset(seed=seed)[0] for seed in range(30)]
    return np.array(seen).tolist()


ASKED = {
    "evaluate": evaluate,
    "exploitability": exploitability,
    "best_responses": best_responses,
    "exact_result": lambda player: exact_result(RandomPolicy(), player),
    "certify": lambda player: certify(player, "test").results,
    "lines": lambda player: certify(player, "test", reach_only=True).results,
    "optimal_share": optimal_share,
    "best_response_player": lambda player: best_response_player(
        player, SMALL
    ).player.table.tolist(),
    "payoffs": lambda player: payoffs([player], [tabulate(RandomPolicy(), SMALL)]).x.tolist(),
    "snapshot": lambda player: snapshot(player, SMALL).table.tolist(),
    "greedy": lambda player: snapshot(player, SMALL, deterministic=True).table.tolist(),
    "env": games,
    "vector env": lambda player: games(player, num_envs=3),
}
OTHER = tabulate(FixedPlayer(1), SMALL)


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_player_is_asked_by_its_own_probs_at_every_door(kind, ask):
    """Also one that inherits what its base can do faster, or has them set on the object."""
    base = made(kind)
    of_class = type("Other", (kind,), {"probs": lambda self, boards: OTHER.probs(boards)})
    object.__setattr__(base, "__class__", of_class)
    of_object = made(kind)
    object.__setattr__(of_object, "probs", OTHER.probs)
    for player in (base, of_object):
        if ask == "payoffs":
            player = tabulate(player, SMALL) if kind is not TabularPolicy else player
        assert ASKED[ask](player) == ASKED[ask](OTHER)
        assert text_of(player) is None
        assert not plays_symmetrically(player)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_class_says_of_its_probs_is_not_said_of_others(kind):
    """A base class is a function of the board. A subclass with other methods need not be."""
    rng = np.random.default_rng(0)

    def drawn(self, boards):
        return one_hot(np.where(boards == 0, rng.random(boards.shape), -1).argmax(axis=1), 9)

    player = made(kind)
    object.__setattr__(player, "__class__", type("Drawing", (kind,), {"probs": drawn}))
    for wrapped in (player, GreedyPolicy(player), CanonicalPolicy(player, SMALL)):
        with refuses(NO_FUNCTION, "eval()"):
            evaluate(wrapped, SMALL)


class Scored:
    """Plays the free cells with probabilities as the scores of a function of it and the boards."""

    policy = RandomPolicy()  # what is inside says nothing of what is around it

    def __init__(self, scores):
        self.scores, self.calls, self.rng = scores, 0, np.random.default_rng(0)
        self.seen = set()

    def probs(self, boards):
        self.calls += 1
        scores = np.where(boards == 0, self.scores(self, boards), 0)
        return scores / scores.sum(axis=1, keepdims=True)


def hidden_draw(player, boards):
    """Draws its move itself, and gives it the probability 1."""
    drawn = np.where(boards == 0, player.rng.random(boards.shape), 0)
    return drawn == drawn.max(axis=1, keepdims=True)


def of_its_batch(player, boards):
    """Looks at the other boards that it is asked for."""
    return np.roll(np.arange(1, 1 + boards.shape[1]), int(boards.sum()))


def alone_otherwise(player, boards):
    """Plays otherwise if it is asked for one board."""
    return np.eye(boards.shape[1])[(boards == 0).argmax(axis=1)] + (len(boards) == 1)


def later_possible(player, boards):
    """Makes all moves possible where it was asked before, with chances that are small."""
    again = np.array([[board.tobytes() in player.seen] for board in boards])
    player.seen |= {board.tobytes() for board in boards}
    return np.eye(boards.shape[1])[(boards == 0).argmax(axis=1)] + 1e-6 * again


def changing_boards(player, boards):
    """Changes the boards in place."""
    own = np.where(boards == 0, np.arange(1, 1 + boards.shape[1]), 0)
    boards[:] = np.where(boards == 0, 0, -boards)
    return own


NO_FUNCTIONS = {
    hidden_draw: "exploration",
    of_its_batch: "batch",
    alone_otherwise: "batch",
    later_possible: "",
    changing_boards: "changes the boards",
}
ASKS = {
    "evaluate": evaluate,
    "exploitability": exploitability,
    "certify": lambda player, rules: certify(player, "test", rules),
    "best_responses": best_responses,
    "exact_result": lambda player, rules: exact_result(RandomPolicy(), player, rules),
}


@pytest.mark.parametrize("rules", [SMALL, BIG], ids=str)
@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("kind", NO_FUNCTIONS)
def test_a_player_that_is_no_function_of_the_board_is_refused(kind, ask, rules):
    with refuses(NO_FUNCTION, NO_FUNCTIONS[kind]):
        ASKS[ask](Scored(kind), rules)


def network(rules, dropout, how):
    """A network of random weights as a player: its best moves, or the softmax of its outputs."""
    torch.manual_seed(0)
    layers = torch.nn.Linear(2 * rules.cells, 64), torch.nn.ReLU(), torch.nn.Dropout(dropout)
    net = torch.nn.Sequential(*layers, torch.nn.Linear(64, rules.cells))

    def play(seen, masks):
        scores = torch.where(torch.as_tensor(masks), 9 * net(torch.as_tensor(seen)), -1e9)
        return scores.argmax(1) if how == "best" else scores.softmax(1)

    return FunctionPolicy(play, rules), net


@pytest.mark.parametrize(("how", "rules"), [("best", SMALL), ("best", BIG), ("softmax", SMALL)])
def test_a_network_is_proven_by_itself_and_refused_with_dropout(how, rules):
    player, net = network(rules, 0.01, how)
    for seed in range(5):
        torch.manual_seed(seed)
        with refuses(NO_FUNCTION):
            evaluate(player)
    net.eval()
    told = FunctionPolicy(player.function, rules, varies="")
    assert evaluate(player) == evaluate(told)
    assert policy_in(certify(player, "test")).rules == rules


CLOCKED = (
    lambda rules: SearchPolicy(rules, seconds=0.01),
    lambda rules: MCTSPolicy(rules, milliseconds=1),
    lambda rules: GreedyPolicy(MCTSPolicy(rules, milliseconds=1)),
    lambda rules: CanonicalPolicy(MCTSPolicy(rules, milliseconds=1), rules),
)


@pytest.mark.parametrize("make", CLOCKED)
def test_a_search_that_is_ended_by_a_clock_is_refused_before_it_is_asked(make):
    with refuses(NO_FUNCTION, "clock"):
        evaluate(make(BIG), BIG)


def test_players_of_large_boards_are_asked_for_positions_of_random_games():
    asked = []

    def seen(board):
        asked.append(board)
        return {board.index(0): 1.0}

    provable(Player(seen), Rules(3, 5, 3))
    counts = {sum(map(abs, board)) for board in asked}
    assert counts >= set(range(9))
    assert (0,) * 15 in asked
    provable(LineCounter(BIG), BIG)
    provable(CanonicalPolicy(LineCounter(BIG), BIG), BIG)


def test_probabilities_may_differ_by_the_rounding_of_a_network():
    rounded = Scored(lambda player, boards: 1 + np.float32(1e-6) * player.rng.random(boards.shape))
    assert provable(rounded, SMALL).rules == SMALL

    def turned(player, boards, share):
        """The highest cell in some positions, depending on the batch, else the lowest."""
        free = np.where(boards == 0, np.arange(1, 1 + boards.shape[1]), 0)
        flips = (np.abs(boards @ np.arange(1, 1 + boards.shape[1])) + len(boards)) % 1000
        signs = np.where(flips[:, None] < 1000 * share, 1, -1)
        return one_hot(np.where(boards == 0, signs * free, -99).argmax(axis=1), boards.shape[1])

    assert provable(Scored(functools.partial(turned, share=0.002)), BIG)
    with refuses(NO_FUNCTION):
        provable(Scored(functools.partial(turned, share=0.1)), BIG)


class Sure:
    """Says in `__init__` that it is a function of the board, and plays by a method of its own."""

    def __init__(self):
        self.varies = ""

    def choose(self, boards):
        return one_hot((boards == 0).argmax(axis=1), boards.shape[1])

    def probs(self, boards):
        return self.choose(boards)


def test_what_a_player_says_is_not_believed_past_replaced_methods_nor_words_of_its_own():
    assert is_believed(Sure())
    assert not is_believed(type("Other", (Sure,), {"choose": lambda self, boards: boards})())
    on_images = type("OnImages", (Sure,), {"symmetric": True})()
    assert as_policy(on_images, SMALL) is on_images


def test_a_model_with_a_predict_of_its_own_is_frozen_with_it_on_large_boards():
    class Shield(Model):
        def predict(self, seen, deterministic):
            return np.full(len(seen), 4), None

    shield = Shield()
    shield.policy = Model()  # another player
    frozen = snapshot(shield, BIG)
    assert frozen.probs(np.eye(2, 16, 3, dtype=np.int8))[:, 4].all()
