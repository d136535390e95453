"""`make release-check` finds what is missing before a tag."""

import datetime
import importlib.util

import packaging_facts as facts
import pytest

spec = importlib.util.spec_from_file_location("release", facts.ROOT / ".ci" / "release_check.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)
GIT = {"rev-parse": "1a2b", "status": "", "tag": "", "remote": facts.REPOSITORY}


@pytest.fixture
def ready(monkeypatch):
    """A repository that is ready for the tag v1.2.0; the function changes one fact of it."""
    today = datetime.date.today().isoformat()

    def change(name, value):
        monkeypatch.setattr(facts, name, lambda: value)

    for name in ("newest_in_changelog", "in_citation"):
        change(name, facts.Release("1.2.0", today))
    change("own_version", "1.2.0")
    change("unreleased_changes", "")
    monkeypatch.setattr(release, "git", lambda command, *rest: GIT[command])
    return change


def test_nothing_is_missing_where_all_files_and_git_agree(ready, capsys):
    assert release.main(["--quick"]) == 0
    said = capsys.readouterr().out
    assert said.count("ok ") == 6
    assert said.endswith("v1.2.0 can be tagged\n")
    for remote in ("git@github.com:tictactoe-env/tictactoe-env.git", f"{facts.REPOSITORY}.git"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(GIT, "remote", remote)
            assert release.main(["--quick"]) == 0


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("own_version", "1.3.0", 'add the heading "## 1.3.0, YYYY-MM-DD"'),
        (
            "newest_in_changelog",
            facts.Release("", ""),
            "the newest version in CHANGELOG.md is none",
        ),
        ("newest_in_changelog", facts.Release("1.2.0", "2020-01-01"), "is 2020-01-01, today is"),
        ("in_citation", facts.Release("1.1.0", "2020-01-01"), "CITATION.cff is 1.1.0, not 1.2.0"),
        ("in_citation", facts.Release("1.2.0", "2020-01-01"), "the date in CITATION.cff is 2020"),
        ("unreleased_changes", "- A new board.", 'has changes under "Unreleased"'),
    ],
)
def test_files_that_disagree_are_named(ready, capsys, name, value, said):
    ready(name, value)
    assert release.main(["--quick"]) == 1
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "answer", "said"),
    [
        ("status", " M README.md", "these files are not committed:\nM README.md"),
        ("tag", "v1.2.0", "the tag v1.2.0 exists: raise __version__"),
        ("remote", "", "the remote origin is not set"),
        ("remote", "https://github.com/a/b.git", "the remote origin is https://github.com/a/b.git"),
        ("rev-parse", "", "is no git repository with a commit"),
    ],
)
def test_what_git_says_is_compared(ready, monkeypatch, capsys, command, answer, said):
    monkeypatch.setitem(GIT, command, answer.strip())
    assert release.main(["--quick"]) == 1
    assert said in capsys.readouterr().out


def test_a_tag_must_be_the_version_and_a_command_that_fails_is_shown(ready, capsys):
    assert release.main(["--tag", "v1.2.0"]) == 0
    assert release.main(["--tag", "v1.2"]) == 1
    assert "the tag is v1.2, but __version__ is 1.2.0: it must be v1.2.0" in capsys.readouterr().out
    assert list(release.failed(["git", "--version"])) == []
    (problem,) = release.failed(["git", "no-such-command"])
    assert "`git no-such-command` failed:" in problem
    assert "not a git command" in problem
