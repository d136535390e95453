"""The map in CONTRIBUTING.md holds: which folder and which module may import which other."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAP = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = "tictactoe_env"


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


ROWS = re.findall(r"^\| (`.*) \|(.*)\|$", MAP.partition("may import")[2].partition("\n\n")[0], re.M)
HOUSE = {folder: set(words(allowed)) for folders, allowed in ROWS for folder in words(folders)}
# From the top down and from left to right: a module imports from later rooms and from its own.
ROOMS = MAP.partition("```layers\n")[2].partition("```")[0].split()

NEEDED = {"numpy", "gymnasium"} | sys.stdlib_module_names
EXTRAS = {
    "sb3": {"stable_baselines3", "sb3_contrib", "torch", "cloudpickle"},
    "pettingzoo": {"pettingzoo"},
}
COMPUTED = ("/__init__.py", "tictactoe_env/opponents.py")
WITH_A_PAGE = {"benchmarks/playouts.py"}  # measures the insides of one page

# Private names of Stable-Baselines3 and sb3-contrib that subclasses have to override or set, those
# of PettingZoo that every AEC environment calls, and those of tuples, of gymnasium.Env, and of os.
PRIVATE_NAMES = set(
    words("""_get_constructor_parameters _update_features_extractor _predict _last_obs
    _last_episode_starts _n_calls _n_updates _current_progress_remaining
    _update_current_progress_remaining _update_learning_rate _get_samples _seeds _options
    _reset_seeds _reset_options _get_indices _total_timesteps _vec_normalize_env _normalize_obs
    _normalize_reward _was_dead_step _accumulate_rewards _asdict _replace _fields _np_random _exit
    """)
)

PATHS = [path for folder in HOUSE for path in sorted((ROOT / folder).rglob("*.py"))]
FILES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}
NAMES = {file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in FILES}


def imports_of(folder: str, source: str) -> set[str]:
    """The full names of the modules that a file imports, anywhere: {"tictactoe_env.rules"}.

    A computed name is "*". Programs in texts count too, since a process may be started with them.
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
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= imports_in_text(folder, node.value)
    return found


def imports_in_text(folder: str, text: str) -> set[str]:
    """The imports of a text that is a Python program; none of one that is not."""
    if "import " not in text:
        return set()
    try:
        return imports_of(folder, text)
    except SyntaxError:
        return set()


def wrong_imports(file: str, source: str) -> set[str]:
    """The modules that a file of a folder must not import, but does."""
    folder, own = file.split("/")[0], file.removesuffix(".py").replace("/", ".")
    found, inner = imports_of(folder, source), own.split(".")[1]
    wrong = {"*"} & found if not file.endswith(COMPUTED) else set()
    for module in found - {"*"}:
        top, _, rest = module.partition(".")
        if top == folder == PACKAGE:
            below = rest.partition(".")[0] or "__init__"
            is_right = below == inner or below in ROOMS[ROOMS.index(inner) :]
        elif folder == PACKAGE:
            is_right = top in NEEDED | EXTRAS.get(inner, set())
        elif top == "agents" and rest and module != own:
            is_right = file in WITH_A_PAGE
        else:
            is_right = top not in {*HOUSE, "train", "evaluate", "play"} - HOUSE[folder] - {folder}
        wrong |= set() if is_right else {module}
    return wrong


def foreign_privates(source: str) -> set[str]:
    """The private names of other modules that a file uses."""
    own, used = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            is_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            is_set = isinstance(node.ctx, ast.Store)
            (own if is_self and is_set else used).add(node.attr)
    private = {name for name in used - own if name.startswith("_") and not name.endswith("__")}
    return private - PRIVATE_NAMES


@pytest.mark.parametrize("file", FILES)
def test_a_file_imports_only_what_the_map_allows_and_no_privates(file):
    assert wrong_imports(file, FILES[file]) == foreign_privates(FILES[file]) == set()


def test_the_map_names_each_module_of_the_package_and_no_other():
    inside = {file.split("/")[1].removesuffix(".py") for file in FILES if file.startswith(PACKAGE)}
    assert inside == set(ROOMS)


def test_importing_the_package_loads_no_heavy_module_and_enumerates_nothing():
    program = (
        "import sys, tictactoe_env\n"
        "from tictactoe_env.exact import match, positions, solver\n"
        "from tictactoe_env.engines import rows\n"
        "heavy = {'torch', 'stable_baselines3', 'pettingzoo', 'pygame', 'matplotlib', 'agents',\n"
        "         'sqlite3'}\n"
        "kept = [positions.positions_of, positions.symmetries_of, solver.solve,\n"
        "        match.best_achievable, rows.row_tables]\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}),\n"
        "      [function.cache_info().currsize for function in kept])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[] [0, 0, 0, 0, 0]\n", "")


@pytest.mark.parametrize(
    ("file", "source", "wrong"),
    [
        ("tictactoe_env/rules.py", "from tictactoe_env.exact.solver import solve", "exact.solver"),
        ("tictactoe_env/notation.py", "from .observation import observe", "observation"),
        ("tictactoe_env/env.py", "def draw():\n    import pygame\n    import json", "pygame"),
        ("tictactoe_env/__init__.py", "import_module('tictactoe_env.sb3')", "sb3"),
        ("tictactoe_env/pettingzoo.py", "import pettingzoo, torch", "torch"),
        ("agents/dqn.py", "import agents.trie, training.run", "agents.trie"),
        ("training/run.py", "program = 'from terminal.job import main; main()'", "terminal.job"),
        ("web/server.py", "import terminal.game, train", "train"),
        ("web/server.py", "import_module(name)", "*"),
    ],
)
def test_an_import_that_the_map_forbids_is_seen_however_it_is_written(file, source, wrong):
    (found,) = wrong_imports(file, source)
    assert found in (wrong, f"tictactoe_env.{wrong}")
