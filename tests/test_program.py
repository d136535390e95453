"""Programs in other languages as players: evaluate.py --program and play.py --program."""

import json
import os
import subprocess
import sys

import pytest
from json_certificates import write_json
from oracles.plain_game import Player
from sample_players import FixedPlayer
from text_cases import called, rows_of

import evaluate
import play
from apps.players.program import most_questions
from tictactoe_env import Rules, make_opponent, tabulate
from tictactoe_env import evaluate as evaluation_of
from tictactoe_env.exact.match import exact_result

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
        first, verdict, *_ = out.splitlines()
        assert ("known already" in first) == (words[1] == "false")
        assert expected.verdict in verdict
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
    assert (code, out.count("\n"), err.count("\n")) == (1, out.count("a proof"), 1)
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
    assert (habit in HONEST) == (evaluation_of(FIRST_FREE, Rules(2, 3, 2)).verdict in out)


def test_a_program_stands_beside_agents(tmp_path, capsys):
    (tmp_path / "bot.sh").write_text(SHELL)
    results = tmp_path / "results.json"
    program = ["--program", f"sh {tmp_path}/bot.sh"]
    words = ["minimax", "gambler", *program, "--json", str(results), "--games", "5"]
    assert called(evaluate, words, capsys)[0] == 0
    found = json.loads(results.read_text())
    table = tabulate(FIRST_FREE, Rules())
    for name, spec in (("minimax", "minimax"), ("dqn-duel-second", "dqn-duel-second")):
        exact = exact_result(table, make_opponent(spec, Rules()))
        assert found["cross_table"]["sh bot.sh"][name]["win"] == exact.win
        assert found["sampled"][name]["sh bot.sh"]["games"] == 5
    write_json(found["agents"]["sh bot.sh"], tmp_path / "bot.json")
    assert called(evaluate, ["--verify", str(tmp_path / "bot.json")], capsys)[0] == 0
    _, out, _ = called(evaluate, ["minimax", *program, "--battle", "2"], capsys)
    assert "minimax won 2, sh bot.sh won 0" in out
    _, out, _ = called(evaluate, [*program, *program, "--battle", "2"], capsys)
    assert "sh bot.sh won 1, sh bot.sh (2) won 1" in out
    _, out, _ = called(evaluate, [*program, "--position", "X.O/.X./..."], capsys)
    assert ["b1", "100.0 %"] in [row[:2] for row in rows_of(out)]
    _, out, _ = called(evaluate, [*program, "--tree", "1", "--side", "X"], capsys)
    assert "1. X a1  100.0 %" in out


# The first open column of Connect Four, as a letter or as a number from 1.
COLUMNS = """
while read -r board side; do
  top=${board%%/*}; left=${top%%.*}
  set -- NAMES; shift ${#left}; echo "$1"
done
"""


@pytest.mark.parametrize("limit", [(), ("--max-positions", "2000")])
def test_the_games_of_a_program_are_sampled_where_its_proof_is_too_large(limit, tmp_path, capsys):
    tables = []
    for names in ("a b c d e f g", "1 2 3 4 5 6 7"):
        (tmp_path / "bot.sh").write_text(COLUMNS.replace("NAMES", names))
        words = ["--board", "6x7x4", "--gravity", "--games", "20", *limit]
        code, out, _ = called(evaluate, ["--program", f"sh {tmp_path}/bot.sh", *words], capsys)
        assert (code, "prove nothing" in out) == (0, True)
        tables.append(rows_of(out))
    assert tables[0] == tables[1]
    assert {*(row[0] for row in tables[0])} == {"1 sh bot.sh", "2 random", "sh bot.sh", "random"}


@pytest.mark.parametrize(
    "rules",
    [Rules(1, 2, 2), Rules(2, 3, 2), Rules(), Rules(3, 4, 4), Rules(4, 4, 4, True)],
    ids=str,
)
def test_no_proof_asks_more_than_is_told_before_it_begins(rules):
    most = most_questions(rules)
    for seed in range(5):
        assert evaluation_of(FixedPlayer(seed), rules).asked <= most
    assert most_questions(Rules(1, 2, 2)) == 1 + 2
    assert most_questions(Rules(2, 2, 2)) == 1 + 3 + 4 + 4 * 2


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
