"""The commands in the README and in docs/ have options that their programs know."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

import agents
import evaluate
import play
import train

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^    (.+)", re.MULTILINE)
INLINE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"^(?:\.venv/bin/)?python3? (train\.py|evaluate\.py|play\.py|-m [\w.]+) (.+)")


def commands():
    """The page and the words of every command line, each once."""
    found = {}
    for path in PAGES:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = "\n".join(FENCE.findall(text)).splitlines()
        lines += INDENTED.findall(text) + [line.replace("\n", " ") for line in INLINE.findall(text)]
        for line in lines:
            if (match := COMMAND.match(line.strip())) and "..." not in line.split(" #")[0].split():
                words = (match[1], *shlex.split(match[2], comments=True))
                found[words] = path.name
    return [pytest.param(words, id=f"{page}: {' '.join(words)}") for words, page in found.items()]


def parse(program, words):
    """Read the options as the program does; SystemExit for one that it does not know."""
    if program == "evaluate.py":
        return evaluate.LINE.parse(words)
    if program == "play.py":
        return play.command_line().parse(words)
    agent = words[0] if words[0] in agents.TRAINABLE else "trie"  # of --resume RUN
    return train.command_line(agents.page(agent)).parse(words)


PLACEHOLDERS = {"AGENT", "NAME", "RUN", "N", "FILE", "monte_carlo"}


@pytest.mark.parametrize("words", commands())
def test_a_command_of_a_page_is_read_by_its_program(words):
    program, *rest = words
    if program.startswith("-m "):
        assert find_spec(program.removeprefix("-m ")), program
    elif "--help" not in rest and "--web" not in rest and rest and not PLACEHOLDERS & {*rest}:
        assert parse(program, list(rest))


def test_there_are_commands_of_every_program():
    found = {words.values[0][0] for words in commands()}
    assert {"train.py", "evaluate.py", "play.py", "-m tictactoe_env.store"} <= found
