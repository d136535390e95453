"""tictactoe_env/text.py: players of text are proven by kept answers, and rewards are exact."""

import json
import pickle
import re
from collections import Counter
from itertools import product

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

ID = "tictactoe_env/TicTacToe-v0"
SQUARE = Rules()
FALLING = Rules(gravity=True)
CONNECT_FOUR = Rules(6, 7, 4, gravity=True)


def board_of(prompt, rules=SQUARE):
    """The board of a prompt, read by its rows."""
    return parse_board("/".join(re.findall("^[XO.]+$", prompt, re.M)), rules)


class Speaker:
    """Answers prompts by the most probable move of a player, in words. fails: every so manyeth."""

    def __init__(self, player, rules=SQUARE, fails=0):
        self.player = player
        self.rules = rules
        self.fails = fails
        self.asked = Counter()

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


def test_a_prompt_names_the_game_the_mark_the_rows_and_the_legal_cells():
    board = parse_board("X.O/.X./...", SQUARE)
    first, *rows, last, ends = board_prompt(board, SQUARE).splitlines()
    assert "play O in tic-tac-toe on" in first
    assert "/".join(rows) == board_text(board, SQUARE)
    assert last.endswith("Legal cells: b1 a2 c2 a3 b3 c3.")
    assert "End your answer with the" in ends
    fallen = board_prompt(parse_board("X../O../X..", FALLING), FALLING)
    parts = ("3 in a row with falling pieces", "a to c, or 1 to 3, from the left")
    for part in (*parts, "lowest free cell", "columns: b c, or 2 3."):
        assert part in fallen
    assert "in Connect Four" in board_prompt(np.zeros(42, np.int8), CONNECT_FOUR)


NAMED = {
    "b2": r"""
        b2
        **B2**.
        b2\r\n\r\nIt blocks a1-c3.\r\n
        b2 (not a1)
        Not a1, b2
        b2 because a1 is taken
        a1 is taken, c3 loses, so I play b2
        I'll take b2. If X plays a1, I play c3.
        I'll play a1. Wait, a1 is taken. So I'll play b2.
        I place my mark at b2, which stops a1-c3.
        Let's go with b2 (a1 is taken).
        The worst move is a1. b2 is fine.
        X's last move: a1. My move: b2
        **Final Answer:** b2
        Answer:\n\n**b2**
        $\\boxed{\\text{b2}}$ because a1-c3 is open
        {"reason": "a1 is taken, c3 loses", "cell": "b2"}
        <answer>b2</answer>\na1 was taken
        <think>Answer: a1? No.\nI play c3.</think>\n\nb2
        Candidates:\n- a1\n- c3\nI choose b2.
        a1 or _b2_ or d4
    """,
    "c3": r"""
        The best move for O is c3. X has a1 and b2.
        My pick: c3. X has a1 and b2.
        Selected cell -> c3. b1 loses.
        Answer c3. X has a1 and b2.
        O's move is c3. X had a1 and b2.
        O must block at c3. X takes b1.
        c3 defends against a1 b2
        c3, of course: a1, b2
        a1 and b2 are X, c3 blocks
        Sure! c3. b1 loses.
        Best move: c3. Second best move: b1.
        Answer: c3\nThe center cell is b2
        My next move will be b3, but now I play c3.
        I play c3. So c2 is my next goal
    """,
    "a1": r"""
        Answer: a1. b1 loses.
        a1. It blocks c3.
    """,
    "none": r"""
        I resign
        Not c3
        Answer: d4
        ab2
        5
    """,
    "d6": r"""
        d
        4
        column 4
        4th column
        I take the d-column.
        column number 4
        col4
        col=4
        {"column": "d", "reason": "e5 wins otherwise"}
        I drop a piece into column d to block e5.
        I play 4, because column 5 is full.
        Column c is full, column e loses. Column d.
    """,
    "nothing": r"""
        column 8
        I take 4 in a row
    """,
}
FORMS = [
    (kind, form.strip().replace(r"\n", "\n").replace(r"\r", "\r").replace(r"\\", "\\"))
    for kind, forms in NAMED.items()
    for form in forms.strip().splitlines()
]


@pytest.mark.parametrize(("kind", "answer"), FORMS)
def test_an_answer_is_the_move_that_people_mean_by_it(kind, answer):
    rules = CONNECT_FOUR if kind in ("d6", "nothing") else SQUARE
    board = parse_board("X.O/.X./...", SQUARE) if kind in ("a1", "c3") else None
    found = named_cell(answer, rules, board)
    assert (None if found is None else cell_text(found, rules)) == (
        kind if len(kind) == 2 else None
    )


def test_a_column_is_its_lowest_free_cell_and_its_top_cell_if_it_is_full():
    board = parse_board("X../O../X..", FALLING)
    assert [named_cell(text, FALLING, board) for text in ("a", "b", "3")] == [0, 7, 8]


@pytest.mark.parametrize("length", [10, 100_000])
def test_no_text_takes_long_to_read(length):
    for part in ("\n", "i ", "(", "if ", "answer: ", "play a ", "so ", "b2 ", "since a1, so "):
        named_cell(part * (length // len(part)), CONNECT_FOUR)


@pytest.mark.parametrize("rules", [SQUARE, Rules(2, 4, 3), Rules(3, 5, 2)], ids=str)
def test_a_player_of_text_is_proven_as_the_player_whose_moves_it_says(rules):
    """With `symmetric` as the CanonicalPolicy, on boards of either kind of proof."""
    for symmetric, player in (
        (False, FixedPlayer(1)),
        (True, CanonicalPolicy(FixedPlayer(1), rules)),
    ):
        ask = Speaker(FixedPlayer(1), rules)
        text = TextPolicy(ask, rules, symmetric=symmetric, batch=100)
        found = evaluate(text)
        expected = evaluate(player, rules)
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
    file = tmp_path / "answers.jsonl"
    player = make_opponent("dqn", SQUARE)
    failures = 0
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


EMPTY = board_prompt(np.zeros(9, np.int8), SQUARE)
KEPT = json.dumps({"prompt": EMPTY, "answer": "b2"}).encode()
DAMAGED = {
    **{text: text.encode() for text in ("", "5", "NaN", "[]", "{}", '{"prompt": "x"}', "{'a': 1}")},
    "types": b'{"prompt": [1], "answer": "a1"}',
    "no answer": json.dumps({"prompt": EMPTY, "answer": None}).encode(),
    "an answer in a list": json.dumps({"prompt": EMPTY, "answer": ["a1"]}).encode(),
    "brackets": b"[" * 100_000,
    "digits": b'{"prompt": "x", "answer": ' + b"9" * 10_000 + b"}",
    "no UTF-8": b'{"prompt": "\xff\xfe", "answer": "a1"}',
    "NUL in it": KEPT[:9] + b"\0" + KEPT[9:],
    "surrogates": b'{"prompt": "\\ud800", "answer": "\\udfff"}',
    "two in a line": KEPT + KEPT,
    "cut": KEPT[:-5],
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_line_costs_its_answer_only(line, tmp_path):
    file = tmp_path / "answers.jsonl"
    asked = []
    for ends, lines in product(
        (b"\n", b"\r\n"), ([line, KEPT], [b"\xef\xbb\xbf" + KEPT, line], [KEPT, line[:-1]])
    ):
        file.write_bytes(ends.join(lines))
        asked.clear()
        for _ in range(2):  # what is new is on a line of its own
            policy = TextPolicy(lambda some: asked.extend(some) or ["c3"], SQUARE, file=file)
            policy.probs(np.array([[0] * 9, [1] + [0] * 8], np.int8))
            assert policy.answers[EMPTY] == "b2"
        assert len(asked) == 1


WRONG = {
    "ask": [5, *(lambda some, one=one: one for one in (None, [], ["b2", "b2"], [None], "b", 5))],
    "rules": [None, "3x3"],
    "prompt": [5, lambda board: None],
    "parse": [5, *(lambda answer, board, one=one: one for one in ("b2", 9, -1, True, 4.0))],
    "symmetric": ["yes", 1],
    "batch": [0, "8", 1.5],
    "file": [5, "/no/such/file", "/", "/dev/full", "/etc/hosts/answers", "/proc/answers", "a\0b"],
}


@pytest.mark.parametrize(("name", "value"), [(name, one) for name in WRONG for one in WRONG[name]])
def test_wrong_arguments_and_answers_are_refused_in_one_line_and_none_is_kept(
    name, value, tmp_path
):
    def ask(some):
        assert name != "file"  # it is refused before
        return ["b2"] * len(some)

    given = {"ask": ask, "rules": SQUARE, "file": tmp_path / "answers.jsonl", name: value}
    with refuses("board" if name == "rules" else name) as found:
        TextPolicy(**given).probs(np.zeros((1, 9), np.int8))
    assert "\n" not in str(found.value)
    file = tmp_path / "answers.jsonl"
    assert name == "parse" or not file.exists() or not file.read_bytes()


def test_answers_of_another_form_are_read_by_a_function():
    def parse(answer, board):
        return int(answer.strip("[]")) if board[int(answer.strip("[]"))] == 0 else None

    policy = TextPolicy(lambda some: ["[4]"] * len(some), SQUARE, parse=parse)
    assert policy.probs(np.eye(9, dtype=np.int8)[[0, 4]]).argmax(axis=1).tolist() == [4, 0]
    assert (policy.unreadable, policy.illegal) == (1, 0)
    assert regret([EMPTY], ["[4]"], parse=parse) == [0.0]
    env = TextEnv(gym.make(ID, opponent=None), parse=parse)
    env.reset(seed=0)
    assert board_of(env.step("[4]")[0])[4] == 1


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


def chat(content):
    return [{"role": "user", "content": content}]


def prompt_of(size, rows):
    return f"You play X on the board {size}: as in earlier versions.\n{rows}\nNow!"


PARTS = [{"type": "image"}, {"type": "text", "text": EMPTY}]
JUDGED = [EMPTY, chat(EMPTY), chat(PARTS), prompt_of("3x3x3", "...\n" * 3)]
JUDGED += [EMPTY + prompt_of("9x9x9999", "...\n"), EMPTY + prompt_of("3x3x3", "XXX\nOO.\n...\n")]
JUDGED += [EMPTY.replace("\n", ends) for ends in ("\r\n", " \n", "\n  ", "\n> ")]
JUDGED += [prompt_of("3x3x3-gravity=true", "...\n...\n.X.\n")]
REFUSED = [None, 5, "", "Hello", [], chat(None), [{"role": "user"}]]
REFUSED += [prompt_of("9x9x9999", "...\n"), prompt_of("6x7x4", ".......\n" * 6)]
REFUSED += [prompt_of("3x3x3", rows) for rows in ("XXX\nOO.\n...\n", "XX.\nXX.\n...\n", "..\n")]
REFUSED += [prompt_of("3x3x3-gravity=true", rows) for rows in (".X.\n...\n", "...\nX..\nO..\n")]


@pytest.mark.parametrize("prompt", JUDGED)
def test_regret_gives_the_floor_to_an_answer_that_it_cannot_read(prompt):
    unreadable = [None, 5, b"b2", "", {}, [], [None], chat(None), chat(5), [{"role": "assistant"}]]
    assert regret([prompt] * len(unreadable), unreadable) == [-3.0] * len(unreadable)
    for answer in ("b2", chat("b2"), chat([{"type": "text", "text": "I play b2"}])):
        assert regret([prompt], [answer]) > [-3.0]


@pytest.mark.parametrize("prompt", REFUSED)
def test_regret_refuses_a_prompt_without_a_board_that_can_be_judged(prompt):
    with refuses("board_prompt") as found:
        regret([prompt], ["b2"])
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(("rules", "count"), [(SQUARE, 4_520), (Rules(2, 3, 2), None)], ids=str)
def test_positions_are_rows_for_every_unfinished_board_or_for_those_that_matter(rules, count):
    every = positions(rules)
    matter = positions(rules, "that matter")
    prompts = [row["prompt"] for row in every]
    assert len(set(prompts)) == len(every) == (count or len(every))
    regrets = np.array([regret(prompts, [name] * len(every)) for name in ("a1", "b1", "c1")])
    known = {row["prompt"] for row in matter}
    assert known < set(prompts)
    wrong = (regrets < 0) & (regrets > -3)  # each on a legal move
    assert all(prompts[at] in known for at in np.flatnonzero(wrong.any(axis=0)))
    some = [row["prompt"] for row in positions(rules, games=9, seed=1)]
    assert len(set(some)) == len(some)
    assert {*some} <= {*prompts}
    with refuses("some", "that matter"):
        positions(rules, "some")
    with refuses("games=100"):
        positions(CONNECT_FOUR)


FOUR = "tictactoe_env/ConnectFour-v0"
GIVEN = [(ID, {}), (ID, {"rows": 4, "cols": 5, "k": 4}), (ID, {"opponent": None}), (FOUR, {})]


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped")
@pytest.mark.parametrize(("id", "options"), GIVEN, ids=str)
def test_gymnasiums_checker_passes_the_environment_of_text(id, options):
    check_env(pickle.loads(pickle.dumps(TextEnv(gym.make(id, **options)))))


def test_the_environment_of_text_plays_columns_and_takes_every_text():
    env = TextEnv(gym.make(FOUR, opponent=None))
    env.reset(seed=0)
    for text in ("d", "4", "I drop it into column d, natürlich", "d3 \U0001f600", "Answer: d2"):
        assert text * 5_000 in env.action_space
        assert not env.step(text)[4]["illegal_move"]
    for text in ("d6", "a1", "d d", "column 8", "Hmm"):  # taken, floating, none
        env.reset(seed=0, options={"board": "......./" * 5 + "...X..."})
        _, reward, over, _, info = env.step(text)
        assert (reward, over, info["illegal_move"]) == (-1, True, 1)
    env = TextEnv(gym.make(FOUR, opponent=None, illegal="raise"))
    env.reset(seed=0)
    for text, error in (("a1", IllegalMoveError), (4, ValueError), (None, ValueError)):
        with refuses(text, error=error):
            env.step(text)
    with refuses("column", "Hmm", error=IllegalMoveError):
        env.step("Hmm")
    by_cell = TextEnv(gym.make(FOUR, opponent=None, illegal="raise", actions="cells"))
    for one, text in product((env, by_cell), ("D", "col 4", "d1")):
        one.reset(options={"board": "...O.../...X.../...O.../...X.../...O.../...X..."})
        with refuses("column d", "a b c e f g", error=IllegalMoveError):
            one.step(text)
    for other in (None, ID, gym.make("CartPole-v1")):
        with refuses("env"):
            TextEnv(other)


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
    env = TextEnv(gym.make(ID, side="X", max_episode_steps=1))
    env.reset(seed=0)
    assert env.step("b2")[2:4] == (False, True)
    with refuses("reset", error=ResetNeeded):
        env.step("a1")
