"""Programs in other languages as players: evaluate.py --program and play.py --program."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from sample_players import CellPlayer
from text_cases import called

import evaluate
import play
from tictactoe_env import evaluate as evaluation_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs of a POSIX system")

# The first free cell, row by row from the top.
SHELL = """
while read -r board side; do
  left=$(printf %s "$board" | tr -d /); left=${left%%.*}
  set -- a1 b1 c1 a2 b2 c2 a3 b3 c3; shift ${#left}; echo "$1"
done
"""
SCRIPT = """
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const at = line.replaceAll("/", "").indexOf(".");
  console.log("abc"[at % 3] + (1 + Math.floor(at / 3)));
});
"""
C = """
#include <stdio.h>
int main(void) {
  char line[99];
  while (fgets(line, 99, stdin)) {
    int at = 0;
    for (char *c = line; *c != '.'; c++) at += *c != '/';
    printf("%c%d\\n", 'a' + at % 3, 1 + at / 3);
    fflush(stdout);
  }
}
"""


class FirstFree:
    def probs(self, boards):
        return CellPlayer(0).probs(boards)[:, [0]] * (boards == 0) * ((boards == 0).cumsum(1) == 1)


def command(language, folder):
    """The command of a program that takes the first free cell."""
    tool = {"shell": "sh", "JavaScript": "node", "C": "gcc"}[language]
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    file = folder / {"shell": "bot.sh", "JavaScript": "bot.js", "C": "bot.c"}[language]
    file.write_text({"shell": SHELL, "JavaScript": SCRIPT, "C": C}[language])
    if language != "C":
        return f"{tool} '{file}'"
    subprocess.run([tool, file, "-o", folder / "bot"], check=True)
    return f"'{folder}/bot'"


@pytest.mark.parametrize("language", ["shell", "JavaScript", "C"])
def test_a_program_in_any_language_is_proven_by_its_answers(language, tmp_path, capsys):
    answers = tmp_path / "answers.jsonl"
    words = ["--program", command(language, tmp_path), "--answers", str(answers)]
    expected = evaluation_of(FirstFree())
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
    "echo hello": (EMPTY, "'hello'"),
    "yes b2": ("b2", "before it was asked"),
    "sh -c 'read line; echo b2; read line; echo d4; cat'": ("'d4'", "1 of its answers"),
    "sh -c 'read line; echo b2; exit 3'": ("exit code 3", "1 of its answers"),
    "./no-such-program": ("no-such-program", "started"),
    "": ("''", "started"),
    "'sh": ("'sh", "started"),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_program_that_misbehaves_is_told_in_one_line_and_its_answers_are_kept(
    words, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, err = called(evaluate, ["--program", words, "--seconds", "0.3"], capsys)
    assert (code, out, err.count("\n")) == (1, "", 1)
    for mention in WRONG[words]:
        assert mention in err
    if kept := re.search(r"--answers (\S+)", err):
        lines = Path(kept[1]).read_text().splitlines()
        assert len(lines) == ("1 of its answers" in err)


def test_one_plays_against_a_program_and_its_illegal_move_loses(tmp_path, capsys):
    store = ["--store", str(tmp_path / "games.db")]
    program = ["--program", "sh -c 'while read line; do echo a1; done'"]
    code, out, _ = called(play, [*program, "--x", "minimax", "--seed", "1", *store], capsys)
    assert (code, "(O) marks a1, which is taken" in out) == (0, True)
    code, out, _ = called(play, [*program, "--o", "minimax", "--seed", "1", *store], capsys)
    assert (code, "(X) marks a1, which is taken" in out) == (0, True)
    code, _, err = called(play, [*program, "--x", "random", "--o", "random", *store], capsys)
    assert (code, "--program" in err) == (1, True)
