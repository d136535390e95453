"""The source archive, unpacked into an empty folder: its tests are all there and run."""

import re
import tarfile

import packaging_facts as facts
import pytest
from programs import python

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
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, folder=folder)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout


def test_it_holds_no_runs_environments_or_caches(archive):
    with tarfile.open(archive) as found:
        assert [name for name in found.getnames() if re.search(SECRETS, name + "/")] == []


def test_all_tests_are_collected_from_it_as_from_the_checkout(unpacked):
    collected = [
        {line for line in pytest_in(folder, "--collect-only").splitlines() if "::" in line}
        for folder in (unpacked, facts.ROOT)
    ]
    assert collected[0] == collected[1]
    assert len(collected[0]) > 1_000


def test_tests_of_the_package_and_of_the_repository_pass_in_it(unpacked):
    said = pytest_in(unpacked, *(f"tests/test_{name}.py" for name in FAST), "-k", "not example")
    assert int(re.search(r"(\d+) passed", said)[1]) > 100
