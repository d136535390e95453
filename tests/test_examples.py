"""Every example is short, documented, and tested with its library by `make ecosystem`."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
ECOSYSTEM = ROOT / "tests" / "ecosystem"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))
NAMES = sorted(path.stem for path in (EXAMPLES / "requirements").glob("*.txt"))


def library_of(program: Path) -> str:
    return max((name for name in NAMES if program.stem.startswith(f"{name}_")), key=len, default="")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
class TestAnExample:
    def test_has_at_most_60_lines_and_a_docstring_that_says_what_to_install(self, program):
        text = program.read_text()
        assert len(text.splitlines()) <= 60
        assert "pip install" in (ast.get_docstring(ast.parse(text)) or "")

    def test_belongs_to_a_library_with_requirements_and_tests(self, program):
        name = library_of(program)
        assert name, f"{program.name} must begin with one of {NAMES} and an underscore"
        assert program.name in (ECOSYSTEM / f"test_{name}.py").read_text()

    def test_imports_nothing_of_the_clone(self, program):
        nodes = list(ast.walk(ast.parse(program.read_text())))
        imported = {
            alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
        }
        imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tictactoe_env"}
        assert not {name.split(".")[0] for name in imported} & folders

    def test_is_listed_with_a_sentence_and_its_command(self, program):
        name = program.name
        row = rf"^\| \[`{name}`\]\({name}\) \| [^|]+ \| `python {name} \d+` \|$"
        assert re.search(row, (EXAMPLES / "README.md").read_text(), re.M)


def test_the_readme_lists_no_program_that_does_not_exist():
    listed = re.findall(r"\]\((\w+\.py)\)", (EXAMPLES / "README.md").read_text())
    assert listed == [path.name for path in PROGRAMS]


def test_each_library_has_a_test_and_an_example():
    assert {library_of(program) for program in PROGRAMS} == set(NAMES)
    assert {path.stem for path in ECOSYSTEM.glob("test_*.py")} == {f"test_{name}" for name in NAMES}


def test_torch_is_always_bounded():
    """Without the upper bound pip installs a build with several gigabytes of CUDA packages."""
    for name in NAMES:
        lines = (EXAMPLES / "requirements" / f"{name}.txt").read_text().splitlines()
        assert {line for line in lines if line.startswith("torch>")} <= {"torch>=2.8,<2.14"}


def test_the_runner_lists_every_library():
    command = [sys.executable, ECOSYSTEM / "run.py", "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.findall(r"^(\w+): ", done.stdout, re.M) == NAMES
    assert all(path.name in done.stdout for path in PROGRAMS)


def test_the_runner_refuses_an_unknown_library():
    command = [sys.executable, ECOSYSTEM / "run.py", "sb4"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "unknown library 'sb4'; the libraries are " in done.stderr
