"""The map in CONTRIBUTING.md holds: which folder and which file may import which other."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "tictactoe_env"

# The package from the bottom up; a file imports from lower layers only, never from its own.
LAYERS = (
    "errors printable < files < stated rules < standing bitboards < "
    "notation observation position_index < positions games < "
    "blocks < starts solver store orientations render < policy < canonical steady < proof < "
    "match lines own_values refutations snapshots table_json < "
    "row_engine bit_engine < evaluation engine search < judge certificate analysis < "
    "responses < mcts runs trained < names < opponents < pool < config spec_json < pooled < "
    "env < vector_env wrappers < __init__ < "
    "__main__ verify pettingzoo sb3.vec_env sb3.maskable_buffers sb3.maskable_policies < "
    "sb3.maskable_dqn sb3.models < sb3.callbacks < sb3.__init__"
)
LAYER_OF = {name: at for at, names in enumerate(LAYERS.split("<")) for name in names.split()}
ALLOWED = {"numpy", "gymnasium", PACKAGE} | sys.stdlib_module_names
# Further ones, by module or subpackage. Stable-Baselines3 requires torch and cloudpickle.
EXTRAS = {
    "sb3": {"stable_baselines3", "sb3_contrib", "torch", "cloudpickle"},
    "pettingzoo": {"pettingzoo"},
}

# What each folder may import. "agents" means agents/__init__.py alone, not the pages.
HOUSE = {
    PACKAGE: set(),
    "training": {PACKAGE},
    "agents": {PACKAGE, "training"},
    "players": {PACKAGE, "training", "agents"},
}
HOUSE["terminal"] = HOUSE["web"] = set(HOUSE)
HOUSE["benchmarks"] = set(HOUSE)
SCRIPTS = {"train", "evaluate", "play"}
HOUSE["attack"] = set(HOUSE) | SCRIPTS
COMPUTED = {
    PACKAGE + "/__init__.py",
    "agents/__init__.py",
    "attack/__main__.py",
}  # import by a computed name
# Measures the insides of one page, and lists the loader of one.
WITH_A_PAGE = {"benchmarks/playouts.py", "attack/loaders.py"}

# Private names of Stable-Baselines3 and sb3-contrib that subclasses have to override or set.
PRIVATE_NAMES_OF_SB3 = (
    "_get_constructor_parameters _update_features_extractor _predict _last_obs "
    "_last_episode_starts _n_calls _n_updates _current_progress_remaining "
    "_update_current_progress_remaining _update_learning_rate _get_samples _seeds _options "
    "_reset_seeds _reset_options _get_indices _total_timesteps _vec_normalize_env _normalize_obs "
    "_normalize_reward"
)
# Private names of PettingZoo that every AEC environment calls.
PRIVATE_NAMES_OF_PETTINGZOO = {"_was_dead_step", "_accumulate_rewards"}
# Of tuples, of gymnasium.Env, and of os.
OTHER_PRIVATE_NAMES = {"_asdict", "_replace", "_fields", "_np_random", "_exit"}

PATHS = [path for folder in HOUSE for path in sorted((ROOT / folder).rglob("*.py"))]
PATHS += [ROOT / f"{name}.py" for name in sorted(SCRIPTS)]
FILES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}


def imports_of(package: str, source: str) -> set[str]:
    """The full names of the modules that a file imports, anywhere: {"tictactoe_env.rules"}."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (package, node.module))) if node.level else node.module
            named = {f"{base}.{alias.name}" for alias in node.names if base in HOUSE}
            modules = {name for name in named if is_module(name)}
            found |= modules or {base}  # "from folder import name": a module, or a name inside
        elif isinstance(node, ast.Call) and imported_by(node):
            found.add(imported_by(node))
    return found


def is_module(name: str) -> bool:
    """Whether a full name is that of a file or of a folder with modules."""
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imported_by(call: ast.Call) -> str:
    """What import_module or __import__ imports, "*" for a computed name; "" for other calls."""
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if called.lstrip("_") not in ("import_module", "import__") or not call.args:
        return ""
    name = call.args[0]
    is_text = isinstance(name, ast.Constant) and isinstance(name.value, str)
    return name.value if is_text else "*"


def upward_imports(name: str, source: str) -> set[str]:
    """The modules of the package that one of them imports though they are not below it."""
    own = {module for module in imports_of(PACKAGE, source) if module.split(".")[0] == PACKAGE}
    inner = {module.partition(".")[2] for module in own}
    inner = {f"{module}.__init__".lstrip(".") if is_folder(module) else module for module in inner}
    return {module for module in inner if LAYER_OF.get(module, 99) >= LAYER_OF[name]}


def is_folder(module: str) -> bool:
    """Whether a module is the package ("") or a subpackage of it."""
    return (ROOT / PACKAGE / module.replace(".", "/") / "__init__.py").exists()


def foreign_imports(name: str, source: str) -> set[str]:
    """The packages that a file of our package must not import, but does."""
    allowed = ALLOWED | EXTRAS.get(name.partition(".")[0], set()) | {"*"}
    return {module.split(".")[0] for module in imports_of(PACKAGE, source)} - allowed


def wrong_imports(file: str, source: str) -> set[str]:
    """The modules of other folders that a file must not import, but does."""
    folder = file.split("/")[0] if "/" in file else ""
    allowed = HOUSE.get(folder, set(HOUSE)) | {folder}
    found = imports_of(folder, source)
    wrong = {module for module in found if module.split(".")[0] in {*HOUSE, *SCRIPTS} - allowed}
    pages = {module for module in found if module.startswith("agents.")}
    if file not in WITH_A_PAGE:
        wrong |= pages - {file.removesuffix(".py").replace("/", ".")}
    return wrong | ({"*"} if "*" in found and file not in COMPUTED else set())


def foreign_privates(file: str, source: str) -> set[str]:
    """The private names of other modules that a file uses."""
    tree = ast.parse(source)
    own, used = set(), set()
    for node in ast.walk(tree):
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
    known = set(PRIVATE_NAMES_OF_SB3.split()) | PRIVATE_NAMES_OF_PETTINGZOO | OTHER_PRIVATE_NAMES
    return private - known


@pytest.mark.parametrize("file", FILES)
def test_a_file_imports_only_what_the_map_allows_and_no_privates(file):
    assert wrong_imports(file, FILES[file]) == foreign_privates(file, FILES[file]) == set()


def test_imports_of_the_package_point_down_and_need_nothing_but_numpy_and_gymnasium():
    own = [path.relative_to(ROOT / PACKAGE) for path in PATHS if ROOT / PACKAGE in path.parents]
    sources = {".".join(path.with_suffix("").parts): FILES[f"{PACKAGE}/{path}"] for path in own}
    assert set(sources) == set(LAYER_OF)
    for name, source in sources.items():
        assert upward_imports(name, source) == foreign_imports(name, source) == set(), name


def test_importing_the_package_loads_no_heavy_module_and_enumerates_nothing():
    program = (
        "import sys, tictactoe_env\n"
        "from tictactoe_env import match, positions, row_engine, solver\n"
        "heavy = {'torch', 'stable_baselines3', 'pettingzoo', 'pygame', 'matplotlib', 'agents',\n"
        "         'sqlite3'}\n"
        "kept = [positions.positions_of, positions.symmetries_of, solver.solve,\n"
        "        match.best_achievable, row_engine.row_tables]\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}),\n"
        "      [function.cache_info().currsize for function in kept])\n"
    )
    command, pipe = [sys.executable, "-c", program], subprocess.PIPE
    done = subprocess.run(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[] [0, 0, 0, 0, 0]\n", "")


def test_imports_are_found_however_they_are_written_and_a_break_of_each_rule_is_seen():
    matches = {"tictactoe_env.match", "tictactoe_env.rules"}
    own = "class A:\n    def f(self):\n        self._x = 1\n        return other._x"
    for check, place, source, found in (
        (imports_of, PACKAGE, "import numpy as np", {"numpy"}),
        (imports_of, PACKAGE, "def f():\n    from torch import nn", {"torch"}),
        (imports_of, PACKAGE, "from tictactoe_env import match, rules", matches),
        (imports_of, PACKAGE, "from .rules import Rules", {"tictactoe_env.rules"}),
        (imports_of, PACKAGE, "from . import rules", {"tictactoe_env.rules"}),
        (imports_of, PACKAGE, "from agents import page, load", {"agents"}),
        (imports_of, PACKAGE, "from agents import dqn", {"agents.dqn"}),
        (imports_of, PACKAGE, "from a import f\nf.import_module('torch.nn')", {"a", "torch.nn"}),
        (imports_of, PACKAGE, "import importlib\nimport_module(name)", {"importlib", "*"}),
        (imports_of, PACKAGE, "_import_module(f'agents.{name}')", {"*"}),
        (imports_of, PACKAGE, "'import torch'  # import torch", set()),
        (upward_imports, "rules", "from tictactoe_env.positions import Positions", {"positions"}),
        (upward_imports, "observation", "from tictactoe_env.notation import x", {"notation"}),
        (upward_imports, "env", "from tictactoe_env.config import Config", set()),
        (upward_imports, "env", "from tictactoe_env import sb3", {"sb3.__init__"}),
        (upward_imports, "__init__", "import tictactoe_env.sb3.vec_env", {"sb3.vec_env"}),
        (upward_imports, "sb3.__init__", "import tictactoe_env.sb3.vec_env", set()),
        (foreign_imports, "env", "def draw():\n    import pygame\n    import json", {"pygame"}),
        (foreign_imports, "env", "import torch, sb3_contrib", {"torch", "sb3_contrib"}),
        (foreign_imports, "sb3.vec_env", "import torch, sb3_contrib, pygame", {"pygame"}),
        (foreign_imports, "env", "import pettingzoo", {"pettingzoo"}),
        (foreign_imports, "pettingzoo", "import pettingzoo, torch", {"torch"}),
        (upward_imports, "__init__", "from tictactoe_env import pettingzoo", {"pettingzoo"}),
        (wrong_imports, "agents/dqn.py", "import agents.trie, training.run", {"agents.trie"}),
        (wrong_imports, "training/run.py", "import agents", {"agents"}),
        (wrong_imports, "players/seat.py", "from agents import trie", {"agents.trie"}),
        (wrong_imports, "players/seat.py", "from agents import load", set()),
        (wrong_imports, "web/server.py", "import train, terminal.a", {"train", "terminal.a"}),
        (wrong_imports, "web/server.py", "import_module(name)", {"*"}),
        (foreign_privates, "", "from training.files import _read", {"_read"}),
        (foreign_privates, "", "env._states", {"_states"}),
        (foreign_privates, "", "self._states", {"_states"}),
        (foreign_privates, "", own, set()),
        (foreign_privates, "", "def _f(): pass\nmodule._f()", set()),
        (foreign_privates, "", "x._asdict(), y.__class__, model._n_calls", set()),
    ):
        assert check(place, source) == found, source
