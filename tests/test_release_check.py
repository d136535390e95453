"""`make release-check` finds what is missing before a tag."""

import datetime
import importlib.util
import zipfile

import packaging_facts as facts
import pytest
import readme_renderer  # noqa: F401  as the script does, which is not imported by name here

spec = importlib.util.spec_from_file_location("release", facts.ROOT / ".ci" / "release_check.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)
RAW = facts.REPOSITORY.replace("github.com", "raw.githubusercontent.com")
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


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("own_version", "1.3.0", "1.2.0"),
        ("newest_in_changelog", facts.Release("", ""), "none"),
        ("newest_in_changelog", facts.Release("1.2.0", "2020-01-01"), "2020-01-01"),
        ("in_citation", facts.Release("1.1.0", "2020-01-01"), "1.1.0"),
        ("unreleased_changes", "- A new board.", "Unreleased"),
        ("status", "M README.md", "M README.md"),
        ("tag", "v1.2.0", "v1.2.0"),
        ("remote", "https://github.com/a/b.git", "https://github.com/a/b.git"),
        ("rev-parse", "", "no git repository"),
    ],
)
def test_files_that_disagree_and_what_git_says_are_named(
    ready, monkeypatch, capsys, name, value, named
):
    if name in GIT:
        monkeypatch.setitem(GIT, name, value)
    else:
        ready(name, value)
    assert release.main(["--quick"]) == 1
    assert named in capsys.readouterr().out.partition("\n- ")[2]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("    git clone https://github.com/a/b", "git clone"),
        ("After the first release on PyPI, `pip install a` will work.", "first release"),
        ("`make train` trains it.", "make train"),
        ("`python train.py dqn` trains it.", "train.py"),
        ('`pip install ".[sb3]"` adds more.', "pip install"),
        ("[More](docs/PLAY.md)", "docs/PLAY.md"),
        (f"[More]({facts.REPOSITORY}/blob/v0.0/docs/PLAY.md)", "v0.0"),
        (f"[More]({facts.REPOSITORY}/blob/v1.2.0/docs/NONE.md)", "NONE.md"),
        (f"![Board]({RAW}/v1.2.0/docs/board.svg)", "board.svg"),
        (f"[More]({facts.REPOSITORY}/blob/v1.2.0/docs/PLAY.md#here)", ""),
        (f"![Game]({RAW}/v1.2.0/docs/game.gif)", ""),
        ("`pip install a`, then [more](https://gymnasium.farama.org) and [below](#install)", ""),
    ],
)
def test_a_page_for_the_index_that_needs_a_clone_or_has_a_link_that_fails_there_is_refused(
    ready, tmp_path, text, named
):
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a-1.dist-info/METADATA", f"Metadata-Version: 2.4\n\n{text}\n")
    problems = list(release.description(wheel))
    assert len(problems) == bool(named)
    assert named in "".join(problems)


def test_a_tag_must_be_the_version_and_a_command_that_fails_is_shown(ready):
    assert release.main(["--tag", "v1.2.0"]) == 0
    assert release.main(["--tag", "v1.2"]) == 1
    assert list(release.failed(["git", "--version"])) == []
    (problem,) = release.failed(["git", "no-such-command"])
    assert "git no-such-command" in problem
