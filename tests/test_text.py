"""tictactoe_env/text.py: players of text are proven by kept answers, and rewards are exact."""

import json
import re
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from sample_players import FixedPlayer
from text_cases import refuses

from tictactoe_env import CanonicalPolicy, IllegalMoveError, Rules, evaluate, make_opponent
from tictactoe_env.notation import board_text, cell_text, named_cell, parse_board
from tictactoe_env.text import TextEnv, TextPolicy, board_prompt, positions, regret

ID, SQUARE = "tictactoe_env/TicTacToe-v0", Rules()


def board_of(prompt, rules=SQUARE):
    """The board of a prompt, read by its rows."""
    return parse_board("/".join(re.findall("^[XO.]+$", prompt, re.M)), rules)


class Speaker:
    """Answers prompts by the most probable move of a player, in words. fails: every so manyeth."""

    def __init__(self, player, rules=SQUARE, fails=0):
        self.player, self.rules, self.fails, self.asked = player, rules, fails, Counter()

    def __call__(self, prompts):
        answers = []
        for prompt in prompts:
            self.asked[prompt] += 1
            if self.fails and self.asked.total() % self.fails == 0:
                raise ConnectionError("the server is away")
            board = board_of(prompt, self.rules)
            cell = int(self.player.probs(board[None])[0].argmax())
            answers.append(f"Not z9 nor A1: I take **{cell_text(cell, self.rules).upper()}**.")
        return answers


def test_a_prompt_names_the_mark_the_rows_and_the_legal_cells():
    board = parse_board("X.O/.X./...", SQUARE)
    first, *rows, last, _ = board_prompt(board, SQUARE).splitlines()
    assert "play O in" in first
    assert "/".join(rows) == board_text(board, SQUARE)
    assert last.endswith("Legal cells: b1 a2 c2 a3 b3 c3.")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("b2", "b2"),
        ("a1 is taken, so B2!", "b2"),
        (r"\boxed{c3}", "c3"),
        ("_a3_ or d4", "a3"),
        *((text, None) for text in ("", "d4", "b22", "ab2", "b 2", "5")),
    ],
)
def test_the_last_cell_that_a_text_names_is_the_move(text, cell):
    found = named_cell(text, SQUARE)
    assert (None if found is None else cell_text(found, SQUARE)) == cell


@pytest.mark.parametrize("rules", [SQUARE, Rules(2, 4, 3), Rules(3, 5, 2)], ids=str)
def test_a_player_of_text_is_proven_as_the_player_whose_moves_it_says(rules):
    """With `symmetric` as the CanonicalPolicy, on boards of either kind of proof."""
    for symmetric, player in (
        (False, FixedPlayer(1)),
        (True, CanonicalPolicy(FixedPlayer(1), rules)),
    ):
        ask = Speaker(FixedPlayer(1), rules)
        text = TextPolicy(ask, rules, symmetric=symmetric, batch=100)
        found, expected = evaluate(text), evaluate(player, rules)
        assert (found, found.best_responses) == (expected, expected.best_responses)
        assert set(ask.asked.values()) == {1}
        assert len(ask.asked) == found.asked == expected.asked


ANSWERS = {".../.../...": "I resign", "X../.../...": "a1", "..X/.../...": "b2"}


def test_answers_without_a_cell_and_taken_cells_lose_and_are_counted_apart():
    def ask(lines):
        return [ANSWERS.get(line, "d4") for line in lines]

    policy = TextPolicy(ask, SQUARE, prompt=lambda board: board_text(board, SQUARE))
    found = evaluate(policy)
    assert (found.x.loss, found.x.illegal, found.best_responses["X"].losing_line) == (1, 1, ())
    assert found.verdict == "can be beaten as X and as O (a1 a1)"
    # After c1 b2 there are seven replies.
    assert (policy.illegal, policy.unreadable) == (1, 1 + 7 + 7)


def test_a_proof_goes_on_after_errors_without_asking_again(tmp_path):
    file, player, failures = tmp_path / "answers.jsonl", make_opponent("dqn", SQUARE), 0
    ask = Speaker(player, fails=10)
    while True:
        try:
            found = evaluate(TextPolicy(ask, SQUARE, file=file))
            break
        except ConnectionError:
            failures += 1
    assert (found, found.asked) == (evaluate(player), 461)
    assert failures == ask.asked.total() // 10
    kept = [json.loads(line)["prompt"] for line in file.read_text().splitlines()]
    assert len(kept) == len(set(kept)) == 461


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_damaged_last_line_costs_its_answer_only(tmp_path, cut):
    file, ask = tmp_path / "answers.jsonl", Speaker(make_opponent("dqn", SQUARE))
    evaluate(TextPolicy(ask, SQUARE, file=file))
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    evaluate(TextPolicy(ask, SQUARE, file=file))
    evaluate(TextPolicy(ask, SQUARE, file=file))
    assert ask.asked.total() == 461 + (cut > 1)
    evaluate(TextPolicy(ask, SQUARE, file=file, prompt=lambda b: f"!\n{board_prompt(b, SQUARE)}"))
    assert len(ask.asked) == 2 * 461


@pytest.mark.parametrize("answers", [[], ["b2", "b2"], [None], "b2"])
def test_other_than_one_text_for_each_prompt_is_refused_and_not_kept(answers, tmp_path):
    policy = TextPolicy(lambda _: answers, SQUARE, file=tmp_path / "answers.jsonl")
    with refuses("1", "ask"):
        evaluate(policy)
    assert not policy.answers


def test_regret_is_0_for_best_moves_and_less_the_more_is_given_away():
    """As TRL calls it, for texts and for chats with other texts around; the last board counts."""
    prompt, other = (
        board_prompt(parse_board(text, SQUARE), SQUARE) for text in ("XX./OO./...", "X../.../...")
    )
    chat = [
        {"role": "system", "content": f"As in {other}"},
        {"role": "user", "content": f"{prompt} Now!"},
    ]
    says = {"c1": 0.0, "c2": -1.0, "a3": -2.0, "a1": -3.0, "pass": -3.0}
    spoken = [[{"role": "assistant", "content": f"Well: {cell}"}] for cell in says]
    for prompts, completions in (([prompt] * 5, [*says]), ([chat] * 5, spoken)):
        found = regret(prompts=prompts, completions=completions, completion_ids=[], step=3)
        assert found == [*says.values()]
        assert {type(one) for one in found} == {float}
    with refuses("board_prompt", "Hello"):
        regret(["Hello"], ["b2"])


@pytest.mark.parametrize(("rules", "count"), [(SQUARE, 4_520), (Rules(2, 3, 2), None)], ids=str)
def test_positions_are_rows_for_every_unfinished_board_or_for_those_that_matter(rules, count):
    every, matter = positions(rules), positions(rules, "that matter")
    prompts = [row["prompt"] for row in every]
    assert len(set(prompts)) == len(every) == (count or len(every))
    regrets = np.array([regret(prompts, [name] * len(every)) for name in ("a1", "b1", "c1")])
    known = {row["prompt"] for row in matter}
    assert known < set(prompts)
    wrong = (regrets < 0) & (regrets > -3)  # each on a legal move
    assert all(prompts[at] in known for at in np.flatnonzero(wrong.any(axis=0)))
    with refuses("some", "that matter"):
        positions(rules, "some")


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped")
@pytest.mark.parametrize(
    "options", [{}, {"rows": 4, "cols": 5, "k": 4}, {"opponent": None}], ids=str
)
def test_gymnasiums_checker_passes_the_environment_of_text(options):
    check_env(TextEnv(gym.make(ID, **options)))


def test_the_environment_of_text_is_played_by_cells_and_a_text_without_one_is_illegal():
    env = TextEnv(gym.make(ID, opponent="minimax", side="X", rewards={"illegal": -5}))
    seen, _ = env.reset(seed=0)
    assert seen == board_prompt(np.zeros(9, np.int8), SQUARE)
    seen, reward, over, _, info = env.step("Let me think. B2.")
    assert (board_of(seen)[4], np.count_nonzero(board_of(seen)), over) == (1, 2, False)
    for text in ("b2", "no idea"):  # taken, none
        assert env.reset(seed=0)[0]
        env.step("b2")
        _, reward, over, _, info = env.step(text)
        assert (reward, over, info["illegal_move"], info["outcome"]) == (-5, True, 1, -1)
        with refuses("reset", error=ResetNeeded):
            env.step("a1")
    env = TextEnv(gym.make(ID, opponent=None, symmetric=True))
    env.reset(seed=0)
    for _ in range(2):  # the image has the first mark in a1
        seen, _, over, _, _ = env.step("c1")
        assert (board_of(seen)[0] != 0, over) == (True, False)
    env = TextEnv(gym.make(ID, illegal="raise", side="X", max_episode_steps=1))
    env.reset(seed=0)
    with refuses("no idea", error=IllegalMoveError):
        env.step("no idea")
    assert env.step("b2")[2:4] == (False, True)
    with refuses("reset", error=ResetNeeded):
        env.step("a1")
