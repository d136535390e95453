"""The code in the README runs; its links, agents and the commands in the documents exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def numbered(block):
    number = BLOCKS.index(block)
    return pytest.param(number, marks=pytest.mark.slow) if ".learn(" in block else number


@pytest.mark.parametrize("number", [numbered(block) for block in BLOCKS])
def test_an_example_runs_and_the_first_has_nine_lines(number, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[number], f"README example {number + 1}", "exec"), {})
    assert number or len([line for line in BLOCKS[0].splitlines() if line]) == 9
    printed = capsys.readouterr().out
    assert bool(re.search("print|verbose", BLOCKS[number])) == bool(printed.strip())
    assert ".learn(" not in BLOCKS[number] or printed.endswith("unbeatable: stopped\n")


def test_linked_files_trained_agents_and_make_commands_exist():
    from agents import TRAINABLE

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    expected = {"docs/BENCHMARKS": {"bench", "bench-learning"}, "docs/RESULTS": {"results"}}
    expected |= {
        "docs/PLAY": {"play", "web", "bench-web", "attack"},
        "README": None,
        "CONTRIBUTING": None,
    }
    expected["docs/RELIABILITY"] = {"attack", "mutants", "bench-web"}
    for name, commands in expected.items():
        path = ROOT / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        assert links or commands is None, name
        assert not [link for link in links if not (path.parent / link).exists()]
        found = set(re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.MULTILINE))
        assert commands in (found, None)
        assert found
        assert all(f"\n{command}:" in makefile for command in found)
        assert set(re.findall(r"train\.py ([a-z_]+)", text)) <= {*TRAINABLE, "monte_carlo"}
    assert re.findall(r"train\.py ([a-z_]+)", README)
