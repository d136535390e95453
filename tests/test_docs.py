"""The pages of the documentation site: their links lead somewhere, and the reference is whole."""

import importlib.util
import re
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
        ("", "CONTRIBUTING.md", "contributing.md"),
        ("docs", "../README.md", "index.md"),
        ("docs", "../agents/dqn.py", "{source}agents/dqn.py"),
        ("", "https://gymnasium.farama.org", "https://gymnasium.farama.org"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site_or_to_the_source(conf, folder, link, becomes):
    expected = becomes.format(source=conf.SOURCE)
    assert conf.site_links(f"see [this]({link}).", folder) == f"see [this]({expected})."


def test_the_reference_has_signatures_and_members(conf):
    page = conf.reference.page(tictactoe_env)
    assert "{py:function} exact_result(policy_x: Policy | Model, policy_o: " in page
    assert "{py:method} step(action: " in page
    assert "{py:classmethod} parse(line: str, " in page
    assert "{py:property} unbeatable\n" in page
    assert page.count(":::::{py:") * 2 == page.count("\n:::::\n") + page.count(":::::{py:")
    assert "**Action space**" in page
    assert not [line for line in page.splitlines() if line.startswith("## ")]


NEEDED = {"api_sb3": "sb3_contrib", "api_pettingzoo": "pettingzoo"}


@pytest.mark.parametrize("page", ["api", "api_wrappers", "api_modules", *NEEDED])
def test_each_part_of_the_reference_has_its_page_with_every_name(conf, page):
    pytest.importorskip(NEEDED.get(page, "tictactoe_env"))
    content = ["# Title\n"]
    conf.read_page(None, page, content)
    if page == "api_modules":
        names = {
            name
            for module, some in conf.FURTHER.items()
            for name in some or import_module(f"tictactoe_env.{module}").__all__
        }
    else:
        names = import_module(conf.REFERENCES[page]).__all__
    assert [name for name in names if not re.search(rf"\}} {name}\b", content[0])] == []


def test_every_page_and_notebook_is_in_the_sidebar_once():
    files = [*DOCS.glob("*.md"), *DOCS.glob("notebooks/*.ipynb")]
    names = {file.relative_to(DOCS).with_suffix("").as_posix() for file in files} - {"index"}
    lines = (DOCS / "index.md").read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if line and line[0] not in "`:%"]
    assert sorted(re.sub(r".*<(.+)>", r"\1", entry) for entry in entries) == sorted(names)


def test_the_page_of_the_environment_is_made_of_its_docstring(conf):
    page = (DOCS / "environment.md").read_text(encoding="utf-8")
    assert page == conf.reference.environment_page(), "write it again: python docs/reference.py"
    sections = set(re.findall(r"^## (.+)$", page, re.MULTILINE))
    assert {"Action space", "Observation space", "Arguments", "Version history"} <= sections
    assert "| Action space | `Discrete(9)` |" in page


def test_the_page_of_the_examples_shows_every_program(conf):
    content = [(DOCS / "libraries.md").read_text(encoding="utf-8")]
    conf.read_page(None, "libraries", content)
    shown = re.findall(r"^```\{literalinclude\} \.\./examples/(.+)$", content[0], re.MULTILINE)
    assert shown == sorted(path.name for path in (DOCS.parent / "examples").glob("*.py"))
    assert f"]({conf.SOURCE}examples/torchrl_ppo.py)" in content[0]
