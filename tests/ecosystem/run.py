"""Tests the wheel with other people's libraries, each in a virtual environment of its own.

    python tests/ecosystem/run.py                   # all libraries
    python tests/ecosystem/run.py torchrl tianshou  # two of them
    python tests/ecosystem/run.py minari --keep     # leaves .ecosystem/minari for the next time
    python tests/ecosystem/run.py --list            # their names, examples and requirements

A library is a name with three files: examples/requirements/NAME.txt, tests/ecosystem/test_NAME.py
and at least one example (see examples/README.md). The wheel is built from the working tree and
installed into .ecosystem/NAME together with the requirements and pytest. The tests run in an empty
folder outside the checkout, so they import the installed wheel. Then the environment is deleted:
with torch it has gigabytes. The whole output of a library is .ecosystem/NAME.log. The exit code is
1 if anything fails. Where UV_TORCH_BACKEND is set, uv installs, and takes that build of torch.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXAMPLES = ROOT / "examples"
ENVIRONMENTS = ROOT / ".ecosystem"
PYTEST = "pytest>=8"
LONG = ("rllib",)  # not run by --short: Ray alone takes minutes to install and to start
SECONDS = 1_200  # after which a test run is stopped
LOG_LINES = 60  # of a failed library, printed

# Run by the environment's own Python: where the package is, and the versions of the requirements.
INSPECT = """
import importlib.metadata, json, sys, tictactoe_env
versions = {name: importlib.metadata.version(name) for name in sys.argv[1:]}
print(json.dumps({"file": tictactoe_env.__file__, "versions": versions}))
"""


class StepFailed(Exception):
    """A library's installation or inspection failed; its log says why."""


@dataclass
class Report:
    """What came of one library: its versions, the numbers of its tests, the time it took."""

    name: str
    versions: str = ""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problem: str = ""
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether at least one test ran and none failed."""
        return not self.problem and not self.failed and self.passed > 0


def libraries() -> list[str]:
    """The names of all libraries, sorted."""
    return sorted(path.stem for path in (EXAMPLES / "requirements").glob("*.txt"))


def library_of(example: str, names: list[str]) -> str | None:
    """The library of an example: the longest name followed by "_" that its file begins with."""
    return max((name for name in names if example.startswith(f"{name}_")), key=len, default=None)


def examples_of(name: str) -> list[Path]:
    """The example programs of a library."""
    names = libraries()
    return [path for path in sorted(EXAMPLES.glob("*.py")) if library_of(path.stem, names) == name]


def requirements(name: str) -> list[str]:
    """The lines of a library's requirement file, without comments."""
    lines = (EXAMPLES / "requirements" / f"{name}.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def build_wheel(folder: Path) -> Path:
    """The wheel of the working tree, built into a folder."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


class Library:
    """One library's virtual environment, its log, and the run of its tests."""

    def __init__(self, name: str, python: str, keep: bool):
        self.name = name
        self.base = python
        self.keep = keep
        self.folder = ENVIRONMENTS / name
        self.python = self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        self.log = ENVIRONMENTS / f"{name}.log"
        self.report = Report(name)

    def test(self, wheel: Path) -> Report:
        """Install the wheel and run the tests."""
        begun = time.monotonic()
        self.log.write_text("")
        try:
            self._install(wheel)
            self.report.versions = self._versions()
            self._run_tests()
        except StepFailed as problem:
            self.report.problem = str(problem)
        finally:
            if not self.keep:
                shutil.rmtree(self.folder, ignore_errors=True)
        self.report.seconds = time.monotonic() - begun
        return self.report

    def _install(self, wheel: Path) -> None:
        """Everything in one call, so that every bound holds; later only the new wheel."""
        wanted = [*requirements(self.name), PYTEST]
        stamp = self.folder / "installed.json"
        state = json.dumps([self.base, wanted, _dependencies()])
        pip = [str(self.python), "-m", "pip", "install", "--disable-pip-version-check"]
        if "UV_TORCH_BACKEND" in os.environ:
            pip = ["uv", "pip", "install", "--python", str(self.python)]
        if stamp.exists() and stamp.read_text() == state:
            self._call([*pip, "--force-reinstall", "--no-deps", str(wheel)])
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self._call([self.base, "-m", "venv", str(self.folder)])
        self._call([*pip, *wanted, str(wheel)])
        stamp.write_text(state)

    def _versions(self) -> str:
        """The versions of the requirements; raises unless the wheel is what Python imports."""
        names = [re.split(r"[^\w.-]", line)[0] for line in requirements(self.name)]
        found = json.loads(self._call([str(self.python), "-c", INSPECT, *names]))
        if not Path(found["file"]).is_relative_to(self.folder):
            raise StepFailed(f"tictactoe_env comes from {found['file']}, not from the wheel")
        return ", ".join(f"{name} {version}" for name, version in found["versions"].items())

    def _run_tests(self) -> None:
        with tempfile.TemporaryDirectory() as outside:
            results = Path(outside) / "results.xml"
            command = [str(self.python), "-m", "pytest", "-c", str(HERE / "pytest.ini")]
            command += [str(HERE / f"test_{self.name}.py"), f"--junitxml={results}"]
            self._call(command, check=False)
            if not results.exists():
                raise StepFailed("pytest did not finish")
            suites = ElementTree.parse(results).getroot().iter("testsuite")
            counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
            for suite in suites:
                for key in counts:
                    counts[key] += int(suite.get(key, 0))
        self.report.failed = counts["failures"] + counts["errors"]
        self.report.skipped = counts["skipped"]
        self.report.passed = counts["tests"] - self.report.failed - self.report.skipped

    def _call(self, command: list[str], check: bool = True) -> str:
        """The output of a command that runs in an empty folder outside the checkout."""
        with tempfile.TemporaryDirectory() as outside, self.log.open("a") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            try:
                done = subprocess.run(
                    command, cwd=outside, env=clean(), timeout=SECONDS, text=True,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                )  # fmt: skip
            except subprocess.TimeoutExpired as error:
                raise StepFailed(f"stopped after {SECONDS} s: {' '.join(command[1:5])}") from error
            log.write(done.stdout)
        if check and done.returncode:
            raise StepFailed(f"failed: {' '.join(command[1:5])}")
        return done.stdout


def clean() -> dict[str, str]:
    """The environment variables without those that change what Python or pytest imports."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST_")) and name != "VIRTUAL_ENV"
    }
    return {**kept, "PYTHONNOUSERSITE": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}


def _dependencies() -> list[str]:
    """The package's own dependencies, as its pyproject.toml writes them."""
    found = re.search(
        r"^dependencies = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.S | re.M
    )
    return re.findall(r'"(.+?)"', found[1]) if found else []


def print_table(reports: list[Report]) -> None:
    """One line a library."""
    width = max(len(report.name) for report in reports)
    print(f"\n{'library':{width}}  passed  failed  skipped  seconds  versions")
    for report in reports:
        numbers = f"{report.passed:6}  {report.failed:6}  {report.skipped:7}  {report.seconds:7.0f}"
        note = f"  {report.problem.upper()}" if report.problem else ""
        print(f"{report.name:{width}}  {numbers}  {report.versions}{note}")


def chosen_names(arguments: argparse.Namespace) -> list[str]:
    """The libraries to test; exits with the known names if one is unknown."""
    known = libraries()
    unknown = sorted(set(arguments.names) - set(known))
    if unknown:
        sys.exit(f"unknown library {unknown[0]!r}; the libraries are {', '.join(known)}")
    names = arguments.names or known
    return [name for name in names if not (arguments.short and name in LONG)]


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="libraries; without any, all")
    parser.add_argument("--list", action="store_true", help="print the libraries and stop")
    parser.add_argument("--short", action="store_true", help=f"all except {', '.join(LONG)}")
    parser.add_argument("--keep", action="store_true", help="do not delete the environments")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="libraries at a time (1)")
    parser.add_argument(
        "--python", default=sys.executable, help="the Python of the environments (this one)"
    )
    return parser


def main() -> None:
    """Run the tests of the chosen libraries and print the table."""
    arguments = options().parse_args()
    names = chosen_names(arguments)
    if arguments.list:
        for name in names:
            print(f"{name}: {', '.join(path.name for path in examples_of(name))}")
            print(f"    {' '.join(requirements(name))}")
        return
    ENVIRONMENTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as threads:
        wheel = build_wheel(Path(folder))
        made = [Library(name, arguments.python, arguments.keep) for name in names]
        print(f"{wheel.name}, {len(names)} libraries", flush=True)
        tested = []
        for report in threads.map(lambda library: library.test(wheel), made):
            tested.append(report)
            print(f"{report.name}: {'passed' if report.is_good else 'FAILED'}", flush=True)
            if not report.is_good:
                log = (ENVIRONMENTS / f"{report.name}.log").read_text()
                print("\n".join(log.splitlines()[-LOG_LINES:]), flush=True)
    print_table(tested)
    sys.exit(0 if all(report.is_good for report in tested) else 1)


if __name__ == "__main__":
    main()
