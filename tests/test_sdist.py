"""The source archive, unpacked into an empty folder: its tests are all there and run."""

import re
import subprocess
import sys
import tarfile

import packaging_facts as facts
import pytest

pytestmark = pytest.mark.slow
FAST = ("rules", "notation", "env", "registration", "documents", "package", "playthroughs")
SECRETS = r"/(\.git|\.venv[^/]*|runs|dist|build|models|__pycache__|\.\w+_cache|\.hypothesis)/"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return facts.built(tmp_path_factory.mktemp("sdist"), "sdist")[0]


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as found:
        found.extractall(folder, filter="data")
    (inner,) = folder.iterdir()
    return inner


def pytest_in(folder, *arguments):
    """The output of pytest in a folder; the folder comes before an editable install."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout


def test_it_holds_no_runs_environments_or_caches(archive):
    with tarfile.open(archive) as found:
        names = found.getnames()
    assert [name for name in names if re.search(SECRETS, name + "/")] == []
    top = {name.split("/")[1] for name in names}
    assert {"tests", "agents", "Makefile", "LICENSE", "CITATION.cff", ".github", "PKG-INFO"} <= top


def test_all_tests_are_collected_from_it_as_from_the_checkout(unpacked):
    collected = [
        {line for line in pytest_in(folder, "--collect-only").splitlines() if "::" in line}
        for folder in (unpacked, facts.ROOT)
    ]
    assert collected[0] == collected[1]
    assert len(collected[0]) > 1_000


def test_tests_of_the_package_and_of_the_repository_pass_in_it(unpacked):
    program = "import tictactoe_env, agents; print(tictactoe_env.__file__, agents.__file__)"
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [
        str(unpacked / name / "__init__.py") for name in ("tictactoe_env", "agents")
    ]
    said = pytest_in(unpacked, *(f"tests/test_{name}.py" for name in FAST), "-k", "not example")
    assert int(re.search(r"(\d+) passed", said)[1]) > 100
