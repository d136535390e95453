"""The metadata, the long description and the citation fit the package."""

import io
import re
import subprocess
import tomllib
from email import message_from_string
from importlib.util import module_from_spec, spec_from_file_location

import packaging_facts as facts
import pytest
import yaml
from hatchling.build import prepare_metadata_for_build_wheel
from packaging.requirements import Requirement
from programs import ROOT, printed
from readme_renderer import markdown

FILES_OF_VERSION = ("CHANGELOG.md", "CITATION.cff", "tictactoe_env/__init__.py")
README = facts.read("README.md")
PYPROJECT = tomllib.loads(facts.read("pyproject.toml"))
CHECK = spec_from_file_location("release_check", ROOT / ".ci/release_check.py")
check = module_from_spec(CHECK)
CHECK.loader.exec_module(check)
PROJECT = PYPROJECT["project"]
GROUPS = PYPROJECT["dependency-groups"]


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The built metadata, as the files of the index have it."""
    folder = tmp_path_factory.mktemp("metadata")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # as a build frontend does
        found = folder / prepare_metadata_for_build_wheel(str(folder)) / "METADATA"
    return message_from_string(found.read_text(encoding="utf-8"))


def names(requirements):
    return {Requirement(text).name for text in requirements}


def test_the_long_description_has_absolute_links_to_this_version_and_no_svg(metadata):
    assert metadata["Description-Content-Type"] == "text/markdown"
    warnings = io.StringIO()
    html = markdown.render(metadata.get_payload(), stream=warnings)
    assert html, warnings.getvalue()
    assert facts.wrong_links(html, facts.own_version()) == []
    assert "/blob/v" in html


def test_the_page_on_the_index_has_the_programs_of_the_readme_and_needs_no_clone(metadata):
    page = metadata.get_payload()
    assert facts.wrong_words(page) == []
    code = r"```python\n(.*?)```"
    assert re.findall(code, page, re.S) == re.findall(code, README, re.S)


def test_the_metadata_name_the_addresses_the_licence_and_the_tested_versions(metadata):
    addresses = dict(text.split(", ") for text in metadata.get_all("Project-URL"))
    assert addresses.keys() == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(url.startswith("https://") for url in addresses.values())
    assert addresses["Source"] == facts.REPOSITORY
    workflow = yaml.safe_load(facts.read(".github/workflows/tests.yml"))
    tested = workflow["jobs"]["package"]["strategy"]["matrix"]["python"]
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(metadata.get_all("Classifier")))
    assert set(listed) <= set(tested)
    assert metadata["Requires-Python"] == f">={tested[0]}"
    assert {"License-Expression", "License-File"} <= set(metadata.keys())


def test_a_pull_request_runs_what_ci_run_does_and_a_release_waits_for_no_other_library():
    made = re.findall(r'\bmake [a-z]+(?: SECONDS=\d+| ARGS="-m \w+")?', facts.read(".ci/run"))
    tests, others = (facts.read(f".github/workflows/{name}.yml") for name in ("tests", "others"))
    for command in {*made} - {"make lint", "make test"}:  # make check has both
        assert re.search(f"- {re.escape(command)}(?: JOBS=0)?\n", tests + others), command
    assert all("\n  pull_request:\n" in workflow for workflow in (tests, others))
    assert "others.yml" not in facts.read(".github/workflows/release.yml")
    assert not re.search("make (ecosystem|cluster)", tests)


def test_the_text_of_a_release_is_its_section_of_the_changelog():
    notes = printed(".ci/release_check.py", "--notes")
    newest = facts.read("CHANGELOG.md").split("\n## ")[1]
    assert notes.split() == newest.partition("\n")[2].split()


def test_one_command_turns_all_files_to_a_release_and_on_to_the_next_version(tmp_path, monkeypatch):
    for name in (*facts.documents(), *FILES_OF_VERSION):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(facts.read(name), encoding="utf-8")
    monkeypatch.setattr(facts, "ROOT", tmp_path)
    assert [*check.same_version()] == []
    for version in ("8.0.0", "9.0.0.dev0", "9.0.0"):
        before = {name: facts.read(name) for name in ("README.md", *FILES_OF_VERSION)}
        check.turn(version, "2099-01-02")
        assert facts.own_version() == version
        assert [*check.same_version()] == []
        assert [*check.released()] == [] or ".dev" in version
        assert "unreleased" not in "".join(map(facts.read, facts.documents()))
        assert first_command() == "pip install tictactoe-env"
        for name in before.keys() & facts.versions().keys():
            now = facts.read(name)
            (tmp_path / name).write_text(before[name], encoding="utf-8")
            assert name in "".join(check.same_version())
            (tmp_path / name).write_text(now, encoding="utf-8")


def first_command():
    """The first command of README.md."""
    return facts.matched(r"(?s)```bash\n(.+?)\n", facts.read("README.md"))


def test_the_first_command_of_the_readme_works_for_who_reads_it():
    is_first = not facts.date_in_changelog()
    assert first_command() == ("pip install ." if is_first else "pip install tictactoe-env")


def test_a_claimed_python_that_is_not_here_is_named():
    done = subprocess.run([".ci/pythons", "99"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, "3.99" in done.stdout) == (1, True)
    claimed = [text for text in PROJECT["classifiers"] if "Python :: 3." in text]
    assert [text.rpartition(".")[2] for text in claimed] == facts.claimed_pythons()


def test_the_package_needs_numpy_and_gymnasium_and_the_extra_all_is_every_other_but_the_agpl():
    assert names(PROJECT["dependencies"]) == {"numpy", "gymnasium"}
    extras = dict(PROJECT["optional-dependencies"])
    everything = Requirement(*extras.pop("all"))
    assert (everything.name, everything.extras) == ("tictactoe-env", {*extras} - {"connect-four"})
    needed = [Requirement(text) for texts in extras.values() for text in texts]
    assert [str(one) for one in needed if "<" in str(one.specifier)] == []


def test_every_group_of_a_command_or_a_message_exists():
    made = re.compile(r"\.venv.*|\.git|build|runs")  # large, and not written by anybody
    folders = [path for path in ROOT.iterdir() if path.is_dir() and not made.fullmatch(path.name)]
    ends = (".py", ".md", ".yml")
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in ends]
    files += [*ROOT.glob("*.py"), *ROOT.glob("*.md"), ROOT / "Makefile"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r"--group ([a-z]+)", text))
    assert {"train", "web", "quick", "test"} <= named <= set(GROUPS)
    assert not re.search(r'pip install -e "?\.' + r"\[", text)


def test_the_badges_and_the_citation_of_the_readme_are_those_of_the_metadata():
    oldest = dict(re.findall(r"badge/(\w+)-([\d.]+)%2B", README))
    needs = {one.name: one for one in map(Requirement, PROJECT["dependencies"])}
    assert PROJECT["requires-python"] == f">={oldest['python']}"
    assert str(needs["gymnasium"].specifier) == f">={oldest['gymnasium']}"
    citation = yaml.safe_load(facts.read("CITATION.cff"))
    assert f"title={{{citation['title']}}}" in README
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Source"]
