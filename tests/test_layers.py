"""The map in CONTRIBUTING.md holds: which folder and which module may import which other."""

import ast
import re
import sys

import pytest
from programs import ROOT, printed

MAP = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = "tictactoe_env"


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


ROWS = re.findall(r"^\| `(\w+)` \|([^|]*)\|", MAP, re.MULTILINE)
HOUSE = {folder: set(words(allowed)) for folder, allowed in ROWS}
# From the top down and from left to right: a module imports from later rooms and from its own.
ROOMS = MAP.partition("```layers\n")[2].partition("```")[0].split()

NEEDED = {"numpy", "gymnasium"} | sys.stdlib_module_names
EXTRAS = {
    "sb3": {"stable_baselines3", "sb3_contrib", "torch", "cloudpickle"},
    "pettingzoo": {"pettingzoo"},
    "render": {"pygame"},
    "exact": {"bitbully"},
}
COMPUTED = ("agents/__init__.py", "tictactoe_env/lazy.py", "tictactoe_env/opponents/__init__.py")

PATHS = [path for folder in HOUSE for path in sorted((ROOT / folder).rglob("*.py"))]
FILES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}
NAMES = {file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in FILES}


def imports_of(folder: str, source: str) -> set[str]:
    """The full names of the modules that a file imports, anywhere: {"tictactoe_env.rules"}.

    A computed name is "*".
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (folder, node.module))) if node.level else node.module
            modules = {f"{base}.{alias.name}" for alias in node.names} & NAMES
            found |= modules or {base}  # "from folder import name": a module, or a name inside
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called.lstrip("_") in ("import_module", "import__") and node.args:
                found.add(getattr(node.args[0], "value", "*"))
    return found


def is_allowed(module: str, file: str) -> bool:
    """Whether a file of a folder may import a module."""
    if module == "*":
        return file.endswith(COMPUTED)
    folder, inner = file.removesuffix(".py").split("/")[:2]
    top, _, rest = module.partition(".")
    if top == folder == PACKAGE:
        below = rest.partition(".")[0] or "__init__"
        return below in ROOMS[ROOMS.index(inner) :]
    if folder == PACKAGE:
        return top in NEEDED | EXTRAS.get(inner, set())
    if top == "agents" and rest:  # an agent is loaded by its name
        return False
    return top not in {*HOUSE, "train", "evaluate", "play"} - HOUSE[folder] - {folder}


def test_a_file_imports_only_what_the_map_allows():
    wrong = [
        (file, module)
        for file, source in FILES.items()
        for module in imports_of(file.split("/")[0], source)
        if not is_allowed(module, file)
    ]
    assert wrong == []


def test_the_map_names_each_module_of_the_package_and_no_other():
    inside = {file.split("/")[1].removesuffix(".py") for file in FILES if file.startswith(PACKAGE)}
    assert inside == set(ROOMS)


def test_importing_the_package_loads_no_heavy_module_and_enumerates_nothing():
    program = """
import sys, tictactoe_env
from tictactoe_env.exact import optimality, positions, solver
from tictactoe_env.engines import rows
heavy = {"torch", "stable_baselines3", "pettingzoo", "pygame", "matplotlib", "agents"}
kept = [positions.positions_of, solver.solve, optimality.best_achievable]
print(heavy & {name.split(".")[0] for name in sys.modules})
print([function.cache_info().currsize for function in [*kept, rows.row_tables]])
"""
    assert printed("-c", program) == "set()\n[0, 0, 0, 0]\n"


def test_an_id_with_the_module_needs_no_import_and_random_play_loads_no_proof_and_no_search():
    program = """
import sys, gymnasium
assert gymnasium.make("tictactoe_env:TicTacToe-v0", opponent="random").reset(seed=0)
print(*(name for name in sys.modules if name.partition(".")[0] == "tictactoe_env"))
"""
    loaded = printed("-c", program).split()
    assert "tictactoe_env.engines.rows" in loaded
    unneeded = ("proof", "match", "solver", "search", "certificates", "trained", "frozen", "render")
    assert [name for name in loaded if name.rpartition(".")[2] in unneeded] == []


@pytest.mark.parametrize(("extra", "package"), [("pettingzoo",) * 2, ("sb3", "sb3_contrib")])
def test_without_its_library_an_adapter_says_what_to_install(extra, package):
    program = f"""
import sys
sys.modules["{package}"] = None
try:
    import tictactoe_env.{extra}
except ImportError as error:
    print(error)
"""
    said = printed("-c", program)
    assert f'pip install "tictactoe-env[{extra}]"' in said
    assert said.count("\n") == 1
