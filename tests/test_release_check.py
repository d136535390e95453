"""`make release-check` finds what is missing before a tag."""

import datetime
import importlib.util
import zipfile

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
    assert capsys.readouterr().out.count("ok ") == 6
    for remote in ("git@github.com:tictactoe-env/tictactoe-env.git", f"{facts.REPOSITORY}.git"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(GIT, "remote", remote)
            assert release.main(["--quick"]) == 0


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("own_version", "1.3.0", "CHANGELOG.md is 1.2.0"),
        ("newest_in_changelog", facts.Release("", ""), "CHANGELOG.md is none"),
        ("newest_in_changelog", facts.Release("1.2.0", "2020-01-01"), "CHANGELOG.md is 2020-01-01"),
        ("in_citation", facts.Release("1.1.0", "2020-01-01"), "CITATION.cff is 1.1.0"),
        ("in_citation", facts.Release("1.2.0", "2020-01-01"), "CITATION.cff is 2020-01-01"),
        ("unreleased_changes", "- A new board.", "Unreleased"),
    ],
)
def test_files_that_disagree_are_named(ready, capsys, name, value, named):
    ready(name, value)
    assert release.main(["--quick"]) == 1
    assert named in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "answer", "named"),
    [
        ("status", "M README.md", "M README.md"),
        ("tag", "v1.2.0", "v1.2.0"),
        ("remote", "", "remote origin"),
        ("remote", "https://github.com/a/b.git", "https://github.com/a/b.git"),
        ("rev-parse", "", "no git repository"),
    ],
)
def test_what_git_says_is_compared(ready, monkeypatch, capsys, command, answer, named):
    monkeypatch.setitem(GIT, command, answer)
    assert release.main(["--quick"]) == 1
    assert named in capsys.readouterr().out.partition("\n- ")[2]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("    git clone https://github.com/a/b", "git clone"),
        ("After the first release on PyPI, `pip install a` will work.", "first release"),
        ("It is not on PyPI yet.", "not on PyPI"),
        ("`make train` trains it.", "make train"),
        ("`python train.py dqn` trains it.", "train.py"),
        ('`pip install ".[sb3]"` adds more.', "pip install"),
        ("`pip install -e .` is enough.", "pip install -e ."),
        ("[More](docs/PLAY.md)", "docs/PLAY.md"),
    ],
)
def test_a_page_for_the_index_that_speaks_of_a_clone_or_of_a_release_to_come_is_refused(
    tmp_path, text, named
):
    pytest.importorskip("readme_renderer")
    wheel = tmp_path / "a.whl"
    for page, count in (("`pip install a`, then `python -m a`.", 0), (text, 1)):
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("a-1.dist-info/METADATA", f"Metadata-Version: 2.4\n\n{page}\n")
        problems = list(release.description(wheel))
        assert len(problems) == count
    assert named in problems[0]


def test_a_tag_must_be_the_version_and_a_command_that_fails_is_shown(ready, capsys):
    assert release.main(["--tag", "v1.2.0"]) == 0
    assert release.main(["--tag", "v1.2"]) == 1
    assert "v1.2.0" in capsys.readouterr().out.rpartition("v1.2,")[2]
    assert list(release.failed(["git", "--version"])) == []
    (problem,) = release.failed(["git", "no-such-command"])
    assert "git no-such-command" in problem
    assert "not a git command" in problem
