"""Certificates, recomputed by tests/plain_proof.py, which shares no code with the package."""

import ast
import copy
import functools
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import plain_proof
import pytest
from plain_proof import Meeting, Refused, game_of, table_of
from sample_players import FixedPlayer, random_probs

from tictactoe_env import certificate
from tictactoe_env.certificate import CertificateError, certify, verify
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy, TabularPolicy
from tictactoe_env.rules import Rules

RECTANGLE = Rules(2, 3, 3)


def certified(policy, rules):
    """A certificate as it is read from its file."""
    return json.loads(json.dumps(certify(policy, "test", rules)))


def sealed(content):
    """The content with the digest of the moves that it has now."""
    text = json.dumps(content["moves"], sort_keys=True, separators=(",", ":"))
    return {**content, "sha256_of_moves": hashlib.sha256(text.encode()).hexdigest()}


def refused_by_both(content):
    with pytest.raises(Refused):
        plain_proof.check(content)
    with pytest.raises(CertificateError):
        verify(content)


def test_it_imports_the_standard_library_only():
    tree = ast.parse(Path(plain_proof.__file__).read_text(encoding="utf-8"))
    names = [one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)]
    imports = [one for one in ast.walk(tree) if isinstance(one, ast.Import)]
    names += [name.name for one in imports for name in one.names]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


AGENTS = {"maskable_ppo": True, "dqn": True, "tabular_q": True, "minimax": True, "random": False}
AGENTS |= {"tictacnet-tictac": False}


@pytest.mark.parametrize("agent", AGENTS)
def test_it_agrees_with_the_certificate_of_an_agent_on_3x3(agent):
    content = certified(make_opponent(agent, Rules()), Rules())
    verify(content)
    assert plain_proof.check(content)["unbeatable"] is AGENTS[agent]


def stochastic(rules):
    """Arbitrary probabilities, on taken cells too, some of them zero."""
    return TabularPolicy(rules, random_probs(rules, np.random.default_rng(0), 0.3))


OTHERS = [
    (lambda rules: FixedPlayer(3), Rules(2, 4, 3)),
    (stochastic, RECTANGLE),
    (lambda rules: RandomPolicy(), Rules(1, 1, 1)),
    (lambda rules: RandomPolicy(), Rules(2, 3, 1)),
    pytest.param(lambda rules: FixedPlayer(3), Rules(3, 4, 3), marks=pytest.mark.slow),
    pytest.param(
        lambda rules: make_opponent("minimax-first", rules), Rules(3, 4, 4), marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("player", "rules"), OTHERS)
def test_it_agrees_on_other_boards_and_with_players_that_draw_their_moves(player, rules):
    content = certified(player(rules), rules)
    verify(content)
    plain_proof.check(content)


# --- a losing line deep down ----------------------------------------------------------------------


def spoiled(content, side):
    """The content with one decision changed, as late in the game as can be, so that `side` loses.

    Returns the length of the losing line as well.
    """
    game, table = game_of(content), table_of(content)
    meeting = Meeting(game, side, table.__getitem__)
    assert meeting.start.nearest is None
    for board in sorted(meeting.decisions, key=lambda board: board.count(".")):
        for name, place in game.place.items():
            after = game.after(board, place)
            if board[place] != "." or game.wins(after, place):
                continue
            replies = [(game.after(after, reply), reply) for reply in game.free(after)]
            if any(game.wins(*reply) for reply in replies):
                changed = copy.deepcopy(content)
                changed["moves"][board] = name
                return changed, game.cells - board.count(".") + 2
    raise AssertionError("no decision can be spoiled")


@pytest.mark.parametrize("side", ["X", "O"])
@pytest.mark.parametrize("rules", [Rules(), RECTANGLE, Rules(2, 4, 3)], ids=str)
def test_the_only_losing_line_of_a_player_is_found_however_deep_it_is(rules, side):
    content = certified(make_opponent("minimax-first", rules), rules)
    changed, length = spoiled(content, side)
    again = certified(certificate.table_of(sealed(changed)), rules)
    verify(again)
    assert not plain_proof.check(again)["unbeatable"]
    line = again[f"as_{side.lower()}"]["losing_line"]
    assert len(line) == length
    refused_by_both(changed)
    refused_by_both(sealed(changed))
    for wrong in (line[:-1], [*line, line[-1]], line[::-1], line[1:2] + line[:1] + line[2:], None):
        stated = copy.deepcopy(again)
        stated[f"as_{side.lower()}"]["losing_line"] = wrong
        refused_by_both(stated)


# --- changed certificates -------------------------------------------------------------------------


def paths_of(value, path=()):
    if isinstance(value, dict):
        return [found for name, part in value.items() for found in paths_of(part, (*path, name))]
    return [path]


def other(value):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value + 1e-6
    return ["a1"] if value is None else None


RESULTS = paths_of(certificate.exact_results(RandomPolicy(), RECTANGLE))


@pytest.mark.parametrize("path", RESULTS, ids=".".join)
@pytest.mark.parametrize("agent", ["minimax-first", "random"])
def test_a_wrong_figure_is_refused(agent, path):
    content = certified(make_opponent(agent, RECTANGLE), RECTANGLE)
    *groups, name = path
    group = functools.reduce(lambda found, key: found[key], groups, content)
    group[name] = other(group[name])
    refused_by_both(content)


def without(content, board):
    del content["moves"][board]


def with_move(content, board, move="c3"):
    content["moves"][board] = move


CHANGES = {
    "the first decision is missing": lambda content: without(content, ".../.../..."),
    "a decision that is never met is missing": lambda content: without(content, "XO./XO./..."),
    "a finished board": lambda content: with_move(content, "XXX/OO./..."),
    "a board that play cannot reach": lambda content: with_move(content, "OO./.../..."),
    "no cell": lambda content: with_move(content, ".../.../...", "d1"),
    "a taken cell": lambda content: with_move(content, "X../.../...", "a1"),
    "half a move": lambda content: with_move(content, ".../.../...", {"a1": 0.5}),
    "another board": lambda content: content["board"].update(rows=1, cols=9),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_decisions_than_those_of_the_board_are_refused(change):
    content = certified(make_opponent("minimax-first", Rules()), Rules())
    CHANGES[change](content)
    refused_by_both(sealed(content))


def test_another_digest_is_refused():
    content = certified(make_opponent("minimax-first", Rules()), Rules())
    content["sha256_of_moves"] = content["sha256_of_moves"][::-1]
    refused_by_both(content)
