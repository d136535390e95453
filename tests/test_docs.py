"""The pages of the documentation site: their links lead somewhere, and the reference is whole."""

import importlib.util
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tictactoe_env

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def conf(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("folder", "link", "becomes"),
    [
        ("", "docs/PLAY.md#in-the-browser", "PLAY.md#in-the-browser"),
        ("", "docs/board.svg", "board.svg"),
        ("", "CONTRIBUTING.md", "contributing.md"),
        ("docs", "../README.md", "index.md"),
        ("docs", "RESULTS.md", "RESULTS.md"),
        ("docs", "../agents/dqn.py", "{source}agents/dqn.py"),
        ("", "tictactoe_env/env.py", "{source}tictactoe_env/env.py"),
        ("", "#install", "#install"),
        ("", "https://gymnasium.farama.org", "https://gymnasium.farama.org"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site_or_to_the_source(conf, folder, link, becomes):
    expected = becomes.format(source=conf.SOURCE)
    assert conf.site_links(f"see [this]({link}).", folder) == f"see [this]({expected})."


def test_the_first_page_is_the_readme_with_the_contents_below(conf):
    content = ["the contents"]
    conf.read_page(None, "index", content)
    assert content[0].startswith("# tictactoe-env\n")
    assert content[0].endswith("the contents")


def test_the_reference_has_every_public_name_with_its_signature_and_members(conf):
    page = conf.reference.page(tictactoe_env)
    for name in tictactoe_env.__all__:
        assert any(f"{{py:{kind}}} {name}" in page for kind in ("class", "function", "data")), name
    assert "{py:function} exact_result(policy_x: Policy | Model, policy_o: " in page
    assert "{py:method} step(action: " in page
    assert "{py:classmethod} parse(line: str, " in page
    assert "{py:property} unbeatable\n" in page
    assert page.count(":::::{py:") * 2 == page.count("\n:::::\n") + page.count(":::::{py:")
    assert "**Action space**" in page
    assert not [line for line in page.splitlines() if line.startswith("## ")]


NEEDED = {"api_sb3": "sb3_contrib", "api_pettingzoo": "pettingzoo"}


@pytest.mark.parametrize("page", ["api", "api_wrappers", *NEEDED])
def test_each_part_of_the_reference_has_its_page(conf, page):
    pytest.importorskip(NEEDED.get(page, "tictactoe_env"))
    content = ["# Title\n"]
    conf.read_page(None, page, content)
    module = import_module(conf.REFERENCES[page])
    assert (DOCS / f"{page}.md").read_text().startswith("# ")
    assert page in (DOCS / "index.md").read_text().splitlines()
    for name in module.__all__:
        assert f"}} {name}" in content[0], name
