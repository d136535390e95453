"""The code in the README and in docs/ runs and prints what the pages say; what they name exists."""

import re
from pathlib import Path

import doc_pages
import pytest

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
            assert output.endswith("unbeatable: stopped\n")


def test_the_readme_is_short_and_its_first_example_has_nine_lines():
    assert len(README.splitlines()) <= 120
    (block,) = PAGES["README.md"]
    assert len([line for line in block.code.splitlines() if line]) == 9


def test_a_block_of_output_belongs_to_a_program():
    for name, blocks in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert text.count("```output") == sum(block.output is not None for block in blocks), name


def test_linked_files_trained_agents_and_make_commands_exist():
    from agents import TRAINABLE

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    expected = {"docs/BENCHMARKS": {"bench", "bench-learning"}, "docs/RESULTS": {"results"}}
    expected |= {"docs/PLAY": {"play", "web", "bench-web"}, "README": None, "CONTRIBUTING": None}
    expected |= {"docs/training": {"train"}, "docs/agents": {"results"}}
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
