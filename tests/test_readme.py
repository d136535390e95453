"""The code in the README and in docs/ runs and prints what the pages say; what they name exists."""

import ast
import builtins
import re
from pathlib import Path

import doc_pages
import pytest

from tictactoe_env import opponents

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = doc_pages.pages()
LEARNS = r"\.learn\(([\d_]+)"
LONGEST = 550_000  # steps of a training in a page that the tests run to the end


def page(name):
    slow = any(re.search(LEARNS, block.code) for block in PAGES[name])
    return pytest.param(name, marks=pytest.mark.slow) if slow else name


def shorter(found):
    """A training of many minutes, such as that of 4x4, is only begun here."""
    steps = int(found[1])
    return f".learn({steps if steps <= LONGEST else 70_000}"


@pytest.mark.parametrize("name", [page(name) for name in PAGES])
def test_the_blocks_of_a_page_run_in_order_and_print_what_the_page_says(
    name, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in PAGES[name]:
        code = re.sub(LEARNS, shorter, block.code)
        output = doc_pages.printed(code, name, names)
        assert block.output is None or output == block.output
        if code == block.code and 'stop_at="unbeatable"' in code:
            assert "unbeatable: stopped\n" in output


def names_from_above(code):
    """The names that a program uses and does not define."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known = {name.id for name in names if isinstance(name.ctx, ast.Store)} | set(dir(builtins))
    known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    known |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    aliases = [node for node in nodes if isinstance(node, ast.alias)]
    known |= {(alias.asname or alias.name).split(".")[0] for alias in aliases}
    return {name.id for name in names} - known


@pytest.mark.parametrize("name", PAGES)
def test_a_block_runs_alone_or_says_that_it_continues_the_one_above(name):
    for block in PAGES[name]:
        continues = block.code.startswith("# continues the program above\n")
        assert bool(names_from_above(block.code)) == continues, block.code
        registers = continues or doc_pages.imports(block, "tictactoe_env")
        assert registers or "gym.make" not in block.code, block.code


def test_the_proof_in_the_readme_is_what_its_command_prints(capsys):
    command = "python -m tictactoe_env.opponents (.+)\n```\n\n```text\n(.+?)```"
    names, proof = re.search(command, README, re.DOTALL).groups()
    assert opponents.main(names.split()) == 0
    assert capsys.readouterr().out == proof


def test_the_readme_is_short_and_its_first_example_has_ten_lines():
    assert len(README.splitlines()) <= 120
    (block,) = PAGES["README.md"]
    assert len([line for line in block.code.splitlines() if line]) == 10


def test_a_block_of_output_belongs_to_a_program():
    for name, blocks in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert text.count("```output") == sum(block.output is not None for block in blocks), name


def test_linked_files_trained_agents_and_make_commands_exist():
    from agents import TRAINABLE

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    expected = {"docs/BENCHMARKS": {"bench", "bench-learning"}, "docs/RESULTS": {"results"}}
    expected |= {
        "docs/PLAY": {"play", "web"},
        "docs/SERVER": {"bench-web", "fuzz"},
        "docs/self_play": {"train"},
        "README": None,
        "CONTRIBUTING": None,
    }
    expected |= {"docs/training": {"train"}, "docs/agents": {"results"}}
    expected["docs/RELIABILITY"] = {"fuzz", "mutants"}
    for name, commands in expected.items():
        text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
        found = set(re.findall(r"(?:`|^    |^)make ([a-z-]+)", text, re.MULTILINE))
        assert commands in (found, None), name
        assert found
        assert all(f"\n{command}:" in makefile for command in found)
        assert set(re.findall(r"train\.py ([a-z_]+)", text)) <= {*TRAINABLE, "monte_carlo"}
    assert re.findall(r"train\.py ([a-z_]+)", README)


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_page_links_exists(path):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


def rows(name):
    """The rows of all tables of a page, as lists of cells."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


def test_what_the_readme_calls_proven_is_what_the_studies_found():
    proven = {
        (board, agent): says for board, agent, says in (r for r in rows("README.md") if len(r) == 3)
    }
    results = {row[0]: row[1:3] for row in rows("docs/RESULTS.md") if len(row) == 8}
    (on_3x3,) = (agents for board, agents in proven if board == "3x3")
    assert proven["3x3", on_3x3] == "both sides, 10 of 10 seeds each"
    names = re.findall(r"`(\w+)`", on_3x3)
    assert len(names) == 8
    assert all(results[name] == ["0 of 10", "0 of 10"] for name in names)
    larger = {row[0].strip("`"): row[2] for row in rows("docs/LARGER_BOARDS.md") if len(row) == 5}
    four = "4x4, four in a row"
    assert proven[four, "`maskable_ppo`"] == f"{larger['maskable_ppo --preset 4x4']} seeds"
    assert proven[four, "`dqn`"] == f"{larger['dqn --rows 4 --cols 4 --k 4']} seeds"
    five = {agent: says for (board, agent), says in proven.items() if board.startswith("5x5")}
    said_x, said_o = larger["maskable_ppo --preset 5x5-x"], larger["maskable_ppo --preset 5x5-o"]
    assert five.pop("`maskable_ppo`") == f"as {said_x} seeds"
    ((with_refutations, says),) = five.items()
    assert "refutations" in with_refutations
    assert said_o.startswith(f"O, with remembered refutations, {says[6:12]}: ")
    won = {larger[f"maskable_ppo --preset {name}"] for name in ("3x4", "3x5", "4x4-k3")}
    assert won == {"X wins against everybody, 3 of 3"}
    said = proven["3x4, 3x5 and 4x4, three in a row", "`maskable_ppo`"]
    assert said == "as X, wins against everybody, 3 of 3 seeds each"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_stands_in_blocks_of_python_only_where_a_test_runs_it(path):
    text = path.read_text(encoding="utf-8")
    rest = re.sub(r"^```python\n.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"^ *(?:import \w+|from \w[\w.]* import .+)$", rest, re.MULTILINE) == []
