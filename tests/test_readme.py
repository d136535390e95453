"""The README's code runs, and what it says of files and options is so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_first_example_has_eight_lines():
    assert len([line for line in BLOCKS[0].splitlines() if line]) == 8


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_runs(number, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    exec(compile(BLOCKS[number], f"README example {number + 1}", "exec"), {})
    printed = capsys.readouterr().out
    assert ("print" in BLOCKS[number]) == bool(printed.strip())


def test_every_file_that_is_linked_exists():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if not link.startswith("http")]
    assert links
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing


def test_every_agent_that_is_trained_by_a_command_is_known():
    from agents import TRAINABLE

    named = set(re.findall(r"train\.py ([a-z_]+)", README))
    assert named
    assert named <= set(TRAINABLE)


def test_the_results_name_the_commands_that_print_them_again():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for document, expected in (
        ("BENCHMARKS", {"bench", "bench-learning"}),
        ("RESULTS", {"results"}),
    ):
        commands = set(
            re.findall(
                r"`make ([a-z-]+)`", (ROOT / "docs" / f"{document}.md").read_text(encoding="utf-8")
            )
        )
        assert commands == expected
        assert all(f"\n{command}:" in makefile for command in commands)
