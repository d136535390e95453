"""The metadata, the long description, the workflows and the citation fit the package."""

import io
import re
import tomllib
from email import message_from_string
from pathlib import Path

import packaging_facts as facts
import pytest
import yaml
from hatchling.build import prepare_metadata_for_build_wheel
from packaging.requirements import Requirement
from packaging_facts import ROOT
from readme_renderer import markdown

README = facts.read("README.md")
PYPROJECT = tomllib.loads(facts.read("pyproject.toml"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
WORKFLOWS = {path.stem: path for path in (ROOT / ".github/workflows").glob("*.yml")}
MODULES = {"pygame-ce": "pygame", "stable-baselines3": "stable_baselines3"}
MODULES |= {"sb3-contrib": "sb3_contrib"}
FULL_HASH = r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\b"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The built metadata, as the files of the index have it."""
    folder = tmp_path_factory.mktemp("metadata")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # as a build frontend does
        found = folder / prepare_metadata_for_build_wheel(str(folder)) / "METADATA"
    return message_from_string(found.read_text(encoding="utf-8"))


def workflow(name):
    content = yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))
    return content | {"on": content.pop(True)}  # YAML 1.1 reads "on" as True


def names(requirements):
    return {Requirement(text).name for text in requirements if isinstance(text, str)}


def test_the_long_description_has_absolute_links_to_this_version_and_no_svg(metadata):
    assert metadata["Description-Content-Type"] == "text/markdown"
    warnings = io.StringIO()
    html = markdown.render(metadata.get_payload(), stream=warnings)
    assert html, warnings.getvalue()
    assert facts.wrong_links(html, facts.own_version()) == []
    assert html.count("<img") == 1
    assert html.count("/blob/v") > 20


def test_the_page_on_the_index_has_the_programs_of_the_readme_and_needs_no_clone(metadata):
    page = metadata.get_payload()
    assert facts.wrong_words(page) == []
    code = r"```python\n(.*?)```"
    assert re.findall(code, page, re.S) == re.findall(code, README, re.S)
    assert "```bash\npip install tictactoe-env\n" in page


def test_the_metadata_name_the_addresses_the_licence_and_the_tested_versions(metadata):
    addresses = dict(text.split(", ") for text in metadata.get_all("Project-URL"))
    assert addresses.keys() == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(url.startswith("https://") for url in addresses.values())
    assert addresses["Source"] == facts.REPOSITORY
    tested = workflow("tests")["jobs"]["package"]["strategy"]["matrix"]["python"]
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(metadata.get_all("Classifier")))
    assert set(listed) <= set(tested)
    assert metadata["Requires-Python"] == f">={tested[0]}"
    assert {"License-Expression", "License-File", "Keywords", "Summary"} <= set(metadata.keys())


def test_the_package_needs_numpy_and_gymnasium_and_each_extra_is_for_one_of_its_modules():
    assert names(PROJECT["dependencies"]) == {"numpy", "gymnasium"}
    extras = dict(PROJECT["optional-dependencies"])
    everything = Requirement(*extras.pop("all"))
    assert (everything.name, everything.extras) == ("tictactoe-env", set(extras))
    sources = [path.read_text("utf-8") for path in (ROOT / "tictactoe_env").rglob("*.py")]
    for extra, requirements in extras.items():
        modules = {MODULES.get(name, name) for name in names(requirements)}
        used = [
            re.search(rf"^\s*(?:from|import) ({'|'.join(modules)})\b", s, re.M) for s in sources
        ]
        assert any(used) or extra == "render", extra  # Gymnasium opens the window with pygame


def test_groups_and_extras_allow_the_same_versions_of_what_both_have():
    extras = {text for some in PROJECT["optional-dependencies"].values() for text in some}
    bound = {Requirement(text).name: text for text in extras}
    for group, requirements in GROUPS.items():
        for text in requirements:
            assert isinstance(text, dict) or bound.get(Requirement(text).name, text) == text, group
    assert set(PYPROJECT["build-system"]["requires"]) <= set(GROUPS["build"])


def test_every_group_of_a_command_or_a_message_exists():
    made = re.compile(r"\.venv.*|\.git|build|runs")  # large, and not written by anybody
    folders = [path for path in ROOT.iterdir() if path.is_dir() and not made.fullmatch(path.name)]
    ends = (".py", ".md", ".yml")
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in ends]
    files += [*ROOT.glob("*.py"), *ROOT.glob("*.md"), ROOT / "Makefile"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r"--group ([a-z]+)", text))
    assert {"play", "train", "web", "quick", "test", "docs"} <= named <= set(GROUPS)
    assert not re.search(r'pip install -e "?\.' + r"\[", text)


def test_the_oldest_versions_that_make_lowest_installs_are_the_bounds_of_the_metadata():
    pinned = re.findall(r'"(gymnasium|numpy)==([\d.]+)\.0"', facts.read("Makefile"))
    assert {f"{name}>={version}" for name, version in pinned} == set(PROJECT["dependencies"])
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f"LOWEST ?= python{lowest}\n" in facts.read("Makefile")


def test_the_citation_names_the_version_and_the_addresses():
    assert facts.in_citation().version == facts.own_version()
    citation = yaml.safe_load(facts.read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert {"title", "authors", "message"} <= citation.keys()  # required by the format
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Source"]


def test_every_action_is_pinned_by_its_hash_and_every_job_has_few_rights():
    assert WORKFLOWS.keys() == {"tests", "release", "docs"}
    for name, path in WORKFLOWS.items():
        uses = re.findall(r"uses: (?!\./)(.+)", path.read_text(encoding="utf-8"))
        assert [use for use in uses if not re.match(FULL_HASH, use)] == []
        content = workflow(name)
        assert content["permissions"] in ({}, {"contents": "read"}), name
        for job, about in content["jobs"].items():
            assert "timeout-minutes" in about or "uses" in about, job
            rights = {
                right for right, given in about.get("permissions", {}).items() if given != "read"
            }
            assert rights <= {
                ("release", "publish"): {"id-token", "attestations"},
                ("release", "github-release"): {"contents"},
                ("docs", "deploy"): {"pages", "id-token"},
            }.get((name, job), set())


def test_a_release_is_tested_and_built_before_a_job_that_runs_no_code_of_ours_publishes_it():
    content = workflow("release")
    assert content["on"] == {"push": {"tags": ["v*"]}}
    jobs = content["jobs"]
    needs = {job: about.get("needs") for job, about in jobs.items()}
    assert needs == {
        "tests": None,
        "build": "tests",
        "publish": "build",
        "github-release": "publish",
    }
    assert all("run" not in step for step in jobs["publish"]["steps"])
    assert jobs["publish"]["permissions"]["id-token"] == "write"
    assert jobs["publish"]["environment"]["name"] == "pypi"
    commands = [step.get("run", "") for step in jobs["build"]["steps"]]
    assert any('release_check.py --tag "$GITHUB_REF_NAME"' in command for command in commands)


def test_make_commands_of_the_workflows_exist():
    text = "\n".join(path.read_text(encoding="utf-8") for path in WORKFLOWS.values())
    used = set(re.findall(r"\bmake ([\w./-]+)", text))
    targets = set(re.findall(r"^([\w./-]+):", facts.read("Makefile"), re.MULTILINE))
    assert {"check", "lowest", "wheel", "docs"} <= used <= targets
    mentioned = set(re.findall(r"tests/test_\w+\.py", text))
    assert mentioned
    assert all(Path(ROOT, name).exists() for name in mentioned)
