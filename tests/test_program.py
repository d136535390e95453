"""Programs in other languages as players: evaluate.py --program and play.py --program."""

import json
import os
import subprocess
import sys

import pytest
from oracles.plain_game import Player
from text_cases import called

import evaluate
import play
from tictactoe_env import Rules
from tictactoe_env import evaluate as evaluation_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs of a POSIX system")

# The first free cell, row by row from the top.
SHELL = """
while read -r board side; do
  left=$(printf %s "$board" | tr -d /); left=${left%%.*}
  set -- a1 b1 c1 a2 b2 c2 a3 b3 c3; shift ${#left}; echo "$1"
done
"""


FIRST_FREE = Player(lambda board: {board.index(0): 1.0})


def test_a_program_in_any_language_is_proven_by_its_answers(tmp_path, capsys):
    answers, file = tmp_path / "answers.jsonl", tmp_path / "bot.sh"
    file.write_text(SHELL)
    words = ["--program", f"sh '{file}'", "--answers", str(answers)]
    expected = evaluation_of(FIRST_FREE)
    for _ in range(2):  # first by the program, then by its answers
        code, out, err = called(evaluate, words, capsys)
        assert (code, err) == (0, "")
        assert out.startswith(f"{expected}\n\n")
        assert f"{expected.asked} positions" in out
        assert len(answers.read_text().splitlines()) == expected.asked
        words[1] = "false"


EMPTY = '".../.../... X"'
WRONG = {
    "false": (EMPTY, "exit code 1"),
    "sleep 60": (EMPTY, "0.3 seconds"),
    "echo hello": ("'hello'", "before it was asked"),
    "sh -c 'read line; echo b2; read line; echo d4; cat'": (EMPTY, "'d4'"),
    "sh -c 'read line; echo b2; exit 3'": (EMPTY, "exit code 3"),
    "./no-such-program": ("no-such-program", "started"),
    "": ("''", "started"),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_program_that_misbehaves_is_told_in_one_line_and_leaves_no_answers(
    words, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, err = called(evaluate, ["--program", words, "--seconds", "0.3"], capsys)
    assert (code, out, err.count("\n")) == (1, "", 1)
    for mention in WRONG[words]:
        assert mention in err
    assert not [*tmp_path.iterdir()]


# It takes the first free cell; what a habit adds stands before its loop, before or after an answer.
# On 2x3 with two in a row it is asked for 16 positions, for the first one again in lines 2 and 18.
HABITUAL = """
import sys
from time import sleep
say = lambda text, end="\\n": print(text, end=end, flush=True)
{start}
for number, line in enumerate(sys.stdin, 1):
    board = line.split()[0]
    at = board.replace("/", "").index(".")
    cell = "abc"[at % 3] + str(at // 3 + 1)
    {before}
    sleep({delay})
    say(cell)
    {after}
"""
HONEST = {
    "noise on stderr": {"after": "print(cell, file=sys.stderr)"},
    "a slow start": {"start": "sleep(1)"},
    "Windows": {"start": 'sys.stdout.reconfigure(newline="\\r\\n")'},
    "a prompt": {"start": 'say("> ", "")', "after": 'say("> ", "")'},
}
DOUBTFUL = {
    "a late banner": {"start": 'sleep(0.5); say("a1 to c3")'},
    "thoughts": {"before": 'say("c2?")'},
    "two lines": {"after": "say('a3')"},
    "a report": {"after": "number % 7 or say('c2: 7 answers')"},
    "one answer twice": {"after": "number == 5 and say(cell)"},
    "the last answer twice": {"after": "number == 17 and say(cell)"},
    "a clock": {"before": "cell = 'b2' if number == 18 else cell"},
}
CASES = [
    *((name, 0.0) for name in HONEST | DOUBTFUL),
    *((name, 0.1) for name in ("a late banner", "thoughts", "a report", "one answer twice")),
]


@pytest.mark.parametrize(("habit", "delay"), CASES)
def test_no_habit_of_a_program_shifts_its_answers(habit, delay, tmp_path, capsys):
    file, answers = tmp_path / "bot.py", tmp_path / "answers.jsonl"
    parts = {"start": "", "before": "", "after": "", **(HONEST | DOUBTFUL)[habit]}
    file.write_text(HABITUAL.format(delay=delay, **parts))
    words = ["--program", f"'{sys.executable}' '{file}'", "--answers", str(answers)]
    code, out, err = called(evaluate, [*words, "--board", "2x3x2", "--seconds", "5"], capsys)
    kept = map(json.loads, answers.read_text().splitlines() if answers.exists() else ())
    for one in kept:
        at = one["prompt"].replace("/", "").index(".")
        assert one["answer"].removeprefix("> ") == "abc"[at % 3] + str(at // 3 + 1)
    assert (code, err.count("\n")) == ((0, 0) if habit in HONEST else (1, 1))
    assert (habit in HONEST) == out.startswith(f"{evaluation_of(FIRST_FREE, Rules(2, 3, 2))}\n\n")


@pytest.mark.parametrize("ending", ["refused", "SIGTERM"])
def test_what_a_program_has_started_ends_with_it(ending):
    says = "echo pass" if ending == "refused" else "true"
    script = f"sleep 60 & read line; echo up >&2; {says}; wait"
    words = ["--program", f"sh -c '{script}'", "--seconds", "50"]
    command = [sys.executable, evaluate.__file__, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr.readline() == b"up\n"
        if ending == "SIGTERM":
            process.terminate()
        process.communicate(timeout=30)  # until nobody holds its output


def test_one_plays_against_a_program_and_its_illegal_move_loses(tmp_path, capsys):
    store = ["--store", str(tmp_path / "games.db")]
    program = ["--program", "sh -c 'while read line; do echo a1; done'"]
    code, out, _ = called(play, [*program, "--x", "minimax", "--seed", "1", *store], capsys)
    assert (code, "(O) marks a1, which is taken" in out) == (0, True)
    code, out, _ = called(play, [*program, "--o", "minimax", "--seed", "1", *store], capsys)
    assert (code, "(X) marks a1, which is taken" in out) == (0, True)
    code, _, err = called(play, [*program, "--x", "random", "--o", "random", *store], capsys)
    assert (code, "--program" in err) == (1, True)
