"""agents/trie.py: what it stores, what it proves, how it chooses, and that it learns."""

from unittest.mock import Mock

import numpy as np
import pytest
from learners import RULES, board, row, trained
from text_cases import refuses

import train
from agents import presets
from agents import trie as module
from agents.trie import TREES, Config, TriePolicy
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.solver import solve
from tictactoe_env.games.game import parse_lines
from tictactoe_env.games.store import GameStore
from tictactoe_env.notation import parse_cell, parse_game
from training import checkpoint

DRAWN_GAME = "b2 a1 c3 a3 a2 c2 b1 b3 c1"


def taught(*games, untried="last"):
    trie = TREES[untried](Config(untried=untried))
    for game in games:
        trie.learn(parse_game(game, RULES))
    return trie


def moves(trie, text):
    """The cells that a tree may move to on a board."""
    return set(np.flatnonzero(TriePolicy(trie).probs(board(text))[0]).tolist())


def cells(text):
    return {parse_cell(name, RULES) for name in text.split()}


def test_sequences_that_lead_to_the_same_position_are_merged_in_play_and_counted():
    trie = taught("a1 b1 a2 b2 a3", "a2 b2 a1 b1 c1 b3", "a2 b1 a1 b2 a3")
    boards = np.concatenate(list(map(board, ("XO./XO./...", "X../.../...", "..X/.../..."))))
    assert [trie.visits[at] for at in trie.positions.rows(boards)] == [3, 1, 0]
    assert TriePolicy(trie).is_new(boards).tolist() == [False, False, True]
    assert moves(trie, "XO./XO./...") == cells("a3")  # though O won in one of the three
    assert len(trie.edges) == 5 + 6 + 4  # the third begins as the second


def test_it_remembers_the_games_through_each_position_and_takes_no_mean_for_a_proof():
    games = "a1 b1 a2 b2 a3", "a2 b2 a1 b1 c1 b3", "a2 b1 a1 b2 a3"
    policy = TriePolicy(taught(*games))
    for text, name, results, proven in (
        (".../.../...", "a1", [1, 0, 0], 0),
        (".../.../...", "a2", [1, 0, 1], 0),
        (".../.../...", "b3", [0, 0, 0], 0),
        ("XO./X../...", "b2", [1, 0, 2], -1),
        ("XO./XO./...", "a3", [2, 0, 0], 1),
        ("XO./XO./...", "c1", [0, 0, 1], -1),
    ):
        found = policy.memory(board(text)[0])
        cell = parse_cell(name, RULES)
        assert (found.results[cell].tolist(), found.proven[cell]) == (results, proven)
        assert (abs(policy.q_values(board(text))[0, cell]) == 1) == (proven != 0)


MIXED = f"""
a1 b1 a2 b2 a3  x=human:Ann o=agent:minimax
a1 b2 ended=resigned result=O  # from here on nothing can be learned
a1 b2 ended=resigned result=X
a1 a1 ended=illegal
{DRAWN_GAME[:-3]} ended=early
a1 b1 a2 b2 a3 b3 a4 board=4x3 k=4
"""
LEFT_OUT = "2 resigned, 1 ended by an illegal move, 1 drawn early, 1 on another board"


def test_a_file_with_a_wrong_line_or_without_a_game_is_refused(tmp_path):
    for text, *mentions in (
        ("a1 b1 a2 b2 a3\na1 a2", "line 2", "games.txt"),
        ("# nothing\n", "3x3"),
        (MIXED.replace("a1 b1 a2 b2 a3  ", "# "), LEFT_OUT),
    ):
        (tmp_path / "games.txt").write_text(text)
        with refuses(*mentions):
            module.begin(Config(learn_from=str(tmp_path / "games.txt"))).advance(0)


@pytest.mark.usefixtures("no_charts")
def test_a_file_is_learned_first_and_once_and_what_is_left_out_is_said(tmp_path, capsys):
    file = tmp_path / "games"  # a store is known by its content
    run = tmp_path / "run"
    with GameStore(file) as store:
        store.add_many(parse_lines(MIXED.splitlines()))
    assert train.main(["trie", *f"--steps 0 --out {run} --learn-from {file}".split()]) == 0
    assert LEFT_OUT in capsys.readouterr().out
    assert checkpoint.load(module, run).trie.visits[0] == 1
    file.unlink()
    assert train.main(["--resume", str(run), "--steps", "2"]) == 0
    assert checkpoint.load(module, run).trie.visits[0] == 3


def test_a_move_with_a_winning_reply_is_not_repeated_and_a_position_of_such_moves_is_lost():
    """X has two threats; each of O's four moves is refuted in a game of its own."""
    trie = taught("a1 b2 a2 b1 a3")
    threats = row("X.X/.O./X.O")
    assert cells("b1").isdisjoint(moves(trie, "X../XO./..."))
    for name, win in (("b1", "a2"), ("a2", "b1"), ("c2", "b1"), ("b3", "b1")):
        assert trie.proven[threats] == 0
        trie.learn(parse_game(f"a1 b2 c1 c3 a3 {name} {win}", RULES))
        assert trie.proven[trie.after[threats][parse_cell(name, RULES)]] == 1
    assert trie.proven[threats] == -1
    assert trie.proven[row("X.X/.O./..O")] == 1  # and so X's move there wins


def test_what_it_proves_is_true():
    learner = trained(module, Config(steps=3_000, seed=100))
    proven = np.array(learner.trie.proven)
    is_known = proven != 0
    assert is_known.sum() > 500
    assert (proven == solve(RULES).value)[is_known].all()


def test_counting_takes_the_best_mean_and_tries_what_is_new_in_training_only():
    """After b2 X won once and drew once; after a1 it lost; other moves were never tried."""
    trie = taught(DRAWN_GAME, "b2 b1 a1 b3 c3", "a1 b2 b1 c1 c2 a3")
    assert moves(trie, ".../.../...") == cells("b2")
    chosen = {trie.choose(0, draw) for draw in np.arange(8) / 8 + 0.01}
    assert chosen == set(range(9)) - cells("b2 a1")


@pytest.mark.parametrize(("untried", "then"), [("draw", set(range(1, 9))), ("last", {0})])
def test_a_move_that_was_never_tried_may_count_as_almost_a_draw(untried, then):
    """After a1 X has lost, by a game that proves nothing about a1; after b2 it has drawn."""
    game = "a1 b2 b1 c1 c2 a3"
    assert moves(taught(game, untried=untried), ".../.../...") == then
    assert moves(taught(game, DRAWN_GAME, untried=untried), ".../.../...") == cells("b2")


def test_tophep_calls_a_move_good_that_drew_once_and_looks_it_up_by_sequence():
    """O has to stop a3. b1 lost ten times and drew once; the others, a3 too, have only lost."""
    lost = [f"a1 b2 a2 {name} a3" for name in ("c1", "c2", "c3", "b3", *["b1"] * 10)]
    games = [*lost, "a1 b2 a2 a3 c1 c3 b1", "a1 b2 a2 b1 b3 a3 c1 c2 c3"]
    assert moves(taught(*games), "X../XO./...") == cells("a3")

    def chosen(trie, *line):
        node = at = 0
        for cell in map(parse_cell, line, [RULES] * len(line)):
            node = trie.after_move(node, cell)
            at = trie.after[at][cell]
        return {trie.choose(at, draw, node) for draw in np.arange(9) / 9 + 0.01}

    trie = taught(*games, untried="tophep")
    assert chosen(trie, "a1", "b2", "a2") == cells("b1")
    assert chosen(trie, "a2", "b2", "a1") == cells("b1 c1 a3 b3 c2 c3"), "another sequence"
    trie = taught("a1 b1 a2 b2 a3", untried="tophep")
    assert chosen(trie, "a1", "b1", "a2", "b2") == cells("a3"), "what ended a game well"
    assert chosen(trie) == set(range(9)) - cells("a1"), "then what is new"
    for untried in TREES:  # nothing is known: random moves on free cells
        probs = TriePolicy(taught(untried=untried)).probs(board("X.O/.../..."))
        assert probs == pytest.approx(np.array([[0, 1, 0, 1, 1, 1, 1, 1, 1]]) / 7)


def test_the_preset_tophep_is_that_system_which_does_not_merge_sequences():
    """Theirs, one run as O: 37.93/38.26/23.81, 95.83 % lost; untrained 28.81/12.70/58.49."""
    learner = trained(module, Config(**presets("trie")["tophep"].options, judge_every=5_000))
    found = learner.training_entries()["by_sequence"]
    results = evaluate(learner.policy()).o
    assert [results.win, results.draw, results.loss] == pytest.approx([0.4, 0.37, 0.23], abs=0.04)
    assert found["as_o"]["worst_case_loss"] == pytest.approx(0.9583, abs=1e-4)


def test_it_plays_the_side_that_was_asked_for_and_learns_from_every_game():
    learner = module.begin(Config(side="O", opponents="random", epsilon=0.0))
    learner.trie.choose = Mock(wraps=learner.trie.choose)
    learner.advance(200)
    rows = [call.args[0] for call in learner.trie.choose.call_args_list]
    assert not learner.trie.positions.x_to_move[rows].any()
    assert learner.trie.visits[0] == learner.steps == 200
