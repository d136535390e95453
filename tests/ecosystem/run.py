"""Tests the wheel with other people's libraries, each in a virtual environment of its own.

    python tests/ecosystem/run.py                   # all libraries
    python tests/ecosystem/run.py torchrl tianshou  # two of them
    python tests/ecosystem/run.py minari --keep     # leaves .ecosystem/minari for the next time
    python tests/ecosystem/run.py --list            # their names and requirements

A library is a name with three files: examples/requirements/NAME.txt, tests/ecosystem/test_NAME.py
and at least one example (see examples/README.md). The wheel is built from the working tree and
installed into .ecosystem/NAME together with the requirements and pytest. The tests run in an empty
folder outside the checkout, so they import the installed wheel. Then the environment is deleted:
with torch it has gigabytes. The whole output of a library is .ecosystem/NAME.log. The exit code is
1 if anything fails. Where UV_TORCH_BACKEND is set, uv installs, and takes that build of torch.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
REQUIREMENTS = ROOT / "examples" / "requirements"
ENVIRONMENTS = ROOT / ".ecosystem"
LONG = ("rllib",)  # not run by --short: Ray alone takes minutes to install and to start
SECONDS = 1_200  # after which a test run is stopped
LOG_LINES = 60  # of a failed library, printed

# Run by the environment's own Python: where the package is, and the versions of the requirements.
INSPECT = """
import importlib.metadata, sys, tictactoe_env
assert tictactoe_env.__file__.startswith(sys.prefix), f"not the wheel: {tictactoe_env.__file__}"
print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in sys.argv[1:]))
"""


def requirements(name: str) -> list[str]:
    """The lines of a library's requirement file, without comments."""
    lines = (REQUIREMENTS / f"{name}.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def build_wheel(folder: Path) -> Path:
    """The wheel of the working tree, built into a folder."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test(name: str, wheel: Path) -> tuple[bool, str, str]:
    """Install the wheel with a library and run its tests.

    Returns whether all passed, what pytest counted, and the versions of the requirements.
    """
    folder = ENVIRONMENTS / name
    log = ENVIRONMENTS / f"{name}.log"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    log.write_text("")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    if "UV_TORCH_BACKEND" in os.environ:
        pip = ["uv", "pip", "install", "--python", python]
    try:
        if not python.exists():
            call(log, sys.executable, "-m", "venv", folder)
        call(log, *pip, *requirements(name), "pytest>=8", wheel)  # at once: every bound holds
        call(log, *pip, "--force-reinstall", "--no-deps", wheel)
        names = [re.split(r"[^\w.-]", line)[0] for line in requirements(name)]
        versions = call(log, python, "-c", INSPECT, *names).strip()
        settings = ("-c", HERE / "pytest.ini")
        printed = call(log, python, "-m", "pytest", "-q", *settings, HERE / f"test_{name}.py")
        return True, printed.splitlines()[-1], versions
    except subprocess.SubprocessError as problem:
        print("\n".join(log.read_text().splitlines()[-LOG_LINES:]))
        return False, f"FAILED: {problem}", ""


def call(log: Path, *command: object) -> str:
    """The output of a command that runs in an empty folder outside the checkout."""
    words = list(map(str, command))
    with tempfile.TemporaryDirectory() as outside:
        done = subprocess.run(
            words,
            cwd=outside,
            env=clean(),
            timeout=SECONDS,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    with log.open("a") as file:
        file.write(f"$ {' '.join(words)}\n{done.stdout}")
    done.check_returncode()
    return done.stdout


def clean() -> dict[str, str]:
    """The environment variables without those that change what Python or pytest imports."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST_")) and name != "VIRTUAL_ENV"
    }
    return {**kept, "PYTHONNOUSERSITE": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}


def main() -> int:
    """Run the tests of the chosen libraries, and print a line for each."""
    known = sorted(path.stem for path in REQUIREMENTS.glob("*.txt"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="libraries; without any, all")
    parser.add_argument("--list", action="store_true", help="print the libraries and stop")
    parser.add_argument("--short", action="store_true", help=f"all except {', '.join(LONG)}")
    parser.add_argument("--keep", action="store_true", help="do not delete the environments")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(known):
        parser.error(f"unknown library {min(unknown)!r}; the libraries are {', '.join(known)}")
    names = [name for name in arguments.names or known if not (arguments.short and name in LONG)]
    if arguments.list:
        print("\n".join(f"{name}: {' '.join(requirements(name))}" for name in names))
        return 0
    ENVIRONMENTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        all_passed = True
        for name in names:
            begun = time.monotonic()
            passed, counted, versions = test(name, wheel)
            all_passed &= passed
            seconds = time.monotonic() - begun
            print(f"{name:12} {seconds:5.0f} s  {counted}  {versions}", flush=True)
            if not arguments.keep:
                shutil.rmtree(ENVIRONMENTS / name, ignore_errors=True)
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
