"""The pages of the documentation site: what is made from docstrings is whole."""

import importlib.util
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def conf(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NEEDED = {"api_sb3": "sb3_contrib", "api_pettingzoo": "pettingzoo"}


@pytest.mark.parametrize("page", ["api", "api_wrappers", "api_modules", *NEEDED])
def test_each_part_of_the_reference_has_its_page_with_every_name(conf, page):
    pytest.importorskip(NEEDED.get(page, "tictactoe_env"))
    content = ["# Title\n"]
    conf.read_page(None, page, content)
    if page == "api_modules":
        names = {name for some in conf.FURTHER.values() for name in some}
    else:
        names = import_module(conf.REFERENCES[page]).__all__
    assert [name for name in names if not re.search(rf"\}} {name}\b", content[0])] == []


def test_the_page_of_the_environment_is_made_of_its_docstring(conf):
    page = (DOCS / "environment.md").read_text(encoding="utf-8")
    assert page == conf.reference.environment_page(), "write it again: python docs/reference.py"
    sections = set(re.findall(r"^## (.+)$", page, re.MULTILINE))
    assert {"Action space", "Observation space", "Arguments", "Version history"} <= sections
