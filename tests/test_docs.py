"""The pages of the documentation site: what is made from docstrings is whole."""

import importlib.util
import re
import sys

import packaging_facts
import pytest
from programs import ROOT

DOCS = ROOT / "docs"


@pytest.fixture
def conf(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_every_public_name_in_its_tables_and_with_its_docstring(conf):
    pytest.importorskip("sb3_contrib")
    pytest.importorskip("pettingzoo")
    content = ["# Title\n"]
    conf.read_page(None, "reference", content)
    names = [name for some in conf.reference.public_names().values() for name in some]
    assert [name for name in names if not re.search(rf"\}} {name}\b", content[0])] == []
    assert [name for name in names if f"`{name} <" not in content[0]] == []


def test_the_reference_has_every_name_that_a_page_a_notebook_or_an_example_imports(conf):
    pytest.importorskip("sb3_contrib")
    pytest.importorskip("pettingzoo")
    found = conf.reference.public_names()
    known = {name for names in found.values() for name in names}
    known |= {module.removeprefix("tictactoe_env.") for module in found}
    files = [file for kind in ("md", "ipynb") for file in ROOT.glob(f"docs/**/*.{kind}")]
    for file in [ROOT / "README.md", *files, *ROOT.glob("examples/*.py")]:
        text = re.sub(r" as \w+", "", file.read_text(encoding="utf-8"))
        imports = re.findall(r"from tictactoe_env[.\w]* import (\w+(?:, \w+)*)", text)
        assert {name for names in imports for name in names.split(", ")} <= known, file.name


@pytest.mark.parametrize("name", ["environment.md", "opponents.md"])
def test_a_page_has_the_part_that_is_made_from_the_package(conf, name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert page == conf.reference.with_part(name), "write it again: python docs/reference.py"
    assert conf.reference.PARTS[name]() in page


def test_each_page_says_how_to_install_the_package_for_as_long_as_the_readme_does(conf):
    note = re.sub(r"</?code>", "`", conf.html_theme_options.get("announcement", ""))
    note = re.sub(r'<a href="(.+?)">(.+?)</a>', r"[\2](\1)", note)
    assert note == packaging_facts.unreleased_note()
    assert ("pip install ." in note) == ("<!-- unreleased" in packaging_facts.read("README.md"))
