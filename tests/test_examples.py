"""Every example is short, documented, and tested with its library by `make ecosystem`."""

import ast
import re
from pathlib import Path

import doc_pages
import pytest
from programs import ROOT

EXAMPLES = ROOT / "examples"
ECOSYSTEM = ROOT / "tests" / "ecosystem"
PROGRAMS = sorted({*EXAMPLES.glob("*.py")} - {*EXAMPLES.glob("test_*.py")})
NAMES = sorted(path.stem for path in (EXAMPLES / "requirements").glob("*.txt"))


def library_of(program: Path) -> str:
    return max((name for name in NAMES if program.stem.startswith(f"{name}_")), key=len, default="")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_is_listed_and_tested_and_needs_no_clone(program):
    text = program.read_text()
    name = program.name
    assert "pip install" in (ast.get_docstring(ast.parse(text)) or "")
    assert name in (ECOSYSTEM / f"test_{library_of(program)}.py").read_text()
    assert not re.search(rf"^ *(?:from|import) (?:{doc_pages.CLONE})\b", text, re.M)
    row = rf"^\| \[[^]]+\]\({name}\) \| [^|]+ \| `python {name} \d+` \|$"
    assert re.search(row, (EXAMPLES / "README.md").read_text(), re.M)


def test_each_library_has_a_test_and_an_example():
    assert {library_of(program) for program in PROGRAMS} == set(NAMES)
    assert {path.stem for path in ECOSYSTEM.glob("test_*.py")} == {f"test_{name}" for name in NAMES}
