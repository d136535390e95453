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


def listed():
    """The pages in the sidebar, from the tables of contents in index.md."""
    lines = (DOCS / "index.md").read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if line and line[0] not in "`:%"]
    return [re.sub(r".*<(.+)>", r"\1", entry) for entry in entries]


NEEDED = {"api_sb3": "sb3_contrib", "api_pettingzoo": "pettingzoo"}


@pytest.mark.parametrize("page", ["api", "api_wrappers", *NEEDED])
def test_each_part_of_the_reference_has_its_page(conf, page):
    pytest.importorskip(NEEDED.get(page, "tictactoe_env"))
    content = ["# Title\n"]
    conf.read_page(None, page, content)
    module = import_module(conf.REFERENCES[page])
    assert (DOCS / f"{page}.md").read_text().startswith("# ")
    assert page in listed()
    for name in module.__all__:
        assert f"}} {name}" in content[0], name


def test_the_names_of_further_modules_are_in_the_reference_and_in_use(conf):
    content = ["# Title\n"]
    conf.read_page(None, "api_modules", content)
    for module, names in conf.FURTHER.items():
        assert f"{{py:module}} tictactoe_env.{module}\n" in content[0]
        for name in names:
            assert re.search(rf"\}} {name}\b", content[0]), name


def test_every_page_and_notebook_is_in_the_sidebar_once():
    files = [*DOCS.glob("*.md"), *DOCS.glob("notebooks/*.ipynb")]
    names = {file.relative_to(DOCS).with_suffix("").as_posix() for file in files} - {"index"}
    assert sorted(listed()) == sorted(names)


def test_the_page_of_the_environment_has_the_sections_of_gymnasiums_own_pages(conf):
    page = (DOCS / "environment.md").read_text(encoding="utf-8")
    assert page == conf.reference.environment_page(), "write it again: python docs/reference.py"
    sections = re.findall(r"^## (.+)$", page, re.MULTILINE)
    first = ["Description", "Action space", "Observation space", "Rewards", "Starting state"]
    assert sections[:6] == [*first, "Episode end"]
    assert {"Arguments", "Version history"} <= set(sections)
    assert "| Action space | `Discrete(9)` |" in page
    assert "| Observation space | `Box(0.0, 1.0, (18,), float32)` |" in page


def test_the_page_of_the_examples_shows_every_program(conf):
    content = [(DOCS / "libraries.md").read_text(encoding="utf-8")]
    conf.read_page(None, "libraries", content)
    shown = re.findall(r"^```\{literalinclude\} \.\./examples/(.+)$", content[0], re.MULTILINE)
    assert shown == sorted(path.name for path in (DOCS.parent / "examples").glob("*.py"))
    assert f"]({conf.SOURCE}examples/torchrl_ppo.py)" in content[0]


PAGE = """<html><head><link rel="stylesheet" href="{css}"></head>
<body><h2 id="here"></h2><a href="{page}">a</a><img src="{picture}"></body></html>"""
GOOD = {"css": "style.css", "page": "#here", "picture": "a.png"}


@pytest.mark.parametrize(
    ("changed", "is_wrong"),
    [
        ({}, False),
        ({"page": "other/b.html#there"}, False),
        ({"page": "https://gymnasium.farama.org"}, False),
        ({"page": "#nowhere"}, True),
        ({"page": "other/b.html#here"}, True),
        ({"page": "missing.html"}, True),
        ({"picture": "missing.png"}, True),
        ({"picture": "https://example.org/a.png"}, True),
        ({"css": "https://example.org/style.css"}, True),
    ],
)
def test_a_link_of_the_site_that_leads_nowhere_or_needs_a_network_is_found(
    tmp_path, conf, changed, is_wrong
):
    from links import wrong_links

    (tmp_path / "other").mkdir()
    (tmp_path / "a.html").write_text(PAGE.format(**GOOD | changed))
    (tmp_path / "other/b.html").write_text('<h2 id="there"></h2><a href="../a.html#here">a</a>')
    for name in ("a.png", "style.css"):
        (tmp_path / name).touch()
    expected = [f"a.html: {target}" for target in changed.values()] if is_wrong else []
    assert wrong_links(tmp_path) == expected
