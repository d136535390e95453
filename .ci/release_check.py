"""Say what is missing before the version is tagged: `python .ci/release_check.py`.

Exits with 1 if anything is missing. `--turn 0.1.0` first makes this the version in all files, dated
today, and `--turn 0.2.0.dev0` begins the next one. `--quick` leaves out the checks that build or
test. `--tag` only compares a tag with what the files say, and `--notes` only prints what the
changelog says of the version, both for the release workflow.
"""

from __future__ import annotations

import argparse
import datetime
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import packaging_facts as facts  # noqa: E402

SHOWN = 15  # last lines of a command that failed
Problems = Iterator[str]


def main(arguments: list[str] | None = None) -> int:
    """Run the checks and print a line for each. Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--turn", metavar="VERSION", help="write this version into the files")
    parser.add_argument("--tag", metavar="NAME", help="compare this tag, such as v0.1.0, and stop")
    parser.add_argument("--quick", action="store_true", help="leave out what builds or tests")
    parser.add_argument("--notes", action="store_true", help="print the changes, and stop")
    typed = parser.parse_args(arguments)
    if typed.turn:
        if not re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", typed.turn):
            parser.error(f"a version is such as 0.1.0 or 0.2.0.dev0, got {typed.turn!r}")
        turn(typed.turn, datetime.date.today().isoformat())
    if typed.notes:
        heading = facts.own_version() if facts.is_released() else "Unreleased"
        print(re.sub(r"\n +", " ", facts.changes(heading)))  # GitHub keeps line ends
        return 0
    checks = [same_version, released]
    if not typed.tag:
        checks += [dated_today, clean_tree, new_tag, own_remote]
        if not typed.quick:
            checks += [distributions, wheel_and_sdist_tests, pythons, documentation]
    missing = [] if typed.tag in (None, f"v{facts.own_version()}") else [wrong_tag(typed.tag)]
    for check in checks:
        found = list(check())
        print(f"{'missing' if found else 'ok     '}  {described(check)}", flush=True)
        missing += found
    for line in missing:
        print(f"\n- {line}")
    print(f"\n{len(missing)} missing" if missing else f"\nv{facts.own_version()} can be tagged")
    return 1 if missing else 0


def described(check: Callable[[], Problems]) -> str:
    """The first sentence of its docstring."""
    return (check.__doc__ or "").split(".")[0]


def wrong_tag(tag: str) -> str:
    """A line about a tag of another version."""
    own = facts.own_version()
    return f"the tag is {tag}, but __version__ is {own}: it must be v{own}"


# --- the version in the files ---------------------------------------------------------------------


def turn(version: str, date: str) -> None:
    """Make this the version in all files, released on a date, or on the way to a release."""
    is_dev = ".dev" in version
    heading = "Unreleased" if is_dev else f"{version}, {date}"
    message = "please cite it as below"
    commit = ", with its commit (git rev-parse HEAD)"
    edit("tictactoe_env/__init__.py", r'^__version__ = ".*"', f'__version__ = "{version}"')
    bibtex = f"version={{{version}}}, year={{{date[:4]}}}"
    edit("README.md", r"\bversion=\{.*?\}, year=\{\d+\}", bibtex)
    edit("CITATION.cff", f"{message}.*$", f"{message}{commit if is_dev else ''}.")
    dated = "" if is_dev else f'date-released: "{date}"\n'
    edit("CITATION.cff", r"^version: .*\n(date-released: .*\n)?", f"version: {version}\n{dated}")
    newest = facts.versions()["CHANGELOG.md"]
    if newest != "Unreleased" and newest.partition(",")[0] != version:
        edit("CHANGELOG.md", "^## ", "## Unreleased\n\n## ")
    edit("CHANGELOG.md", "^## .+$", f"## {heading}")
    if not is_dev:
        for file in facts.documents():
            edit(file, f"(?s){facts.UNRELEASED}", "", count=0)


def edit(file: str, pattern: str, text: str, count: int = 1) -> None:
    """Replace what matches in a file, at most `count` times, or all if that is 0."""
    path = facts.ROOT / file
    found = re.sub(pattern, lambda _: text, facts.read(file), count=count, flags=re.MULTILINE)
    path.write_text(found, encoding="utf-8")


# --- files and git --------------------------------------------------------------------------------


def same_version() -> Problems:
    """All files say the same of the version, and whether it is released."""
    found = facts.versions()
    for file, expected in facts.expected_versions().items():
        if found[file] != expected:
            yield f"{file} names the version {found[file] or 'nowhere'!r}, expected {expected!r}"
    is_first = not facts.date_in_changelog()
    if is_first and not facts.unreleased_note():
        yield 'README.md does not say how to install what is not released: mark it "unreleased"'
    for file in facts.documents():
        if not is_first and re.search("<!-- (end of )?unreleased", facts.read(file)):
            yield f'{file} has a part "unreleased", but there is a release: remove it'


def released() -> Problems:
    """The version is one to be released."""
    version = facts.own_version()
    if not facts.is_released():
        final = version.partition(".dev")[0]
        yield f"__version__ is {version}: `python .ci/release_check.py --turn {final}` raises it"


def dated_today() -> Problems:
    """The version is dated today."""
    today = datetime.date.today().isoformat()
    date = facts.date_in_changelog()
    if facts.is_released() and date != today:
        yield f"the date in CHANGELOG.md is {date or 'missing'}, today is {today}: change it"


def clean_tree() -> Problems:
    """The working tree is clean."""
    if not git("rev-parse", "--verify", "HEAD"):
        yield f"{ROOT} is no git repository with a commit: check a clone"
    if changed := git("status", "--porcelain"):
        yield f"these files are not committed:\n{changed}"


def new_tag() -> Problems:
    """The tag does not exist yet."""
    tag = f"v{facts.own_version()}"
    if git("tag", "--list", tag):
        yield f"the tag {tag} exists: raise __version__"


def own_remote() -> Problems:
    """The addresses in the metadata are those of the remote origin."""
    remote = git("remote", "get-url", "origin")
    found = re.sub(r"^(ssh://)?git@([^:/]+)[:/]", r"https://\2/", remote).removesuffix(".git")
    if found != facts.REPOSITORY:
        yield (
            f"the metadata name {facts.REPOSITORY}, the remote origin is {remote or 'not set'}: "
            "change [project.urls] and the substitutions in pyproject.toml, CITATION.cff, "
            "docs/conf.py and tests/packaging_facts.py, or the remote"
        )
    if f'Source = "{facts.REPOSITORY}"' not in facts.read("pyproject.toml"):
        yield f"Source in [project.urls] is not {facts.REPOSITORY}, as in tests/packaging_facts.py"


# --- the distributions ----------------------------------------------------------------------------


def distributions() -> Problems:
    """Wheel and source archive are built twice to the same bytes and pass the index's checks."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            first, second = (
                facts.built(Path(folder, name), isolated=True) for name in ("first", "second")
            )
        except RuntimeError as error:
            yield str(error)
            return
        for one, other in zip(first, second, strict=True):
            if one.read_bytes() != other.read_bytes():
                yield f"{one.name} has other bytes when it is built again"
        yield from ran("twine", "check", "--strict", *map(str, first))
        yield from ran("check_wheel_contents", "--toplevel", "tictactoe_env", str(first[0]))
        yield from description(first[0])


def description(wheel: Path) -> Problems:
    """The long description of a wheel renders as on the index, with links that work there."""
    from readme_renderer import markdown

    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        text = message_from_bytes(archive.read(name)).get_payload()
    html = markdown.render(text, stream=io.StringIO())
    if not html:
        yield "the index cannot render the long description"
    for words in facts.wrong_words(text):
        yield f"the long description speaks of a clone or of a release to come: {words!r}"
    for link in facts.wrong_links(html or "", facts.own_version()):
        yield f"the long description has a link or picture that does not work on the index: {link}"


def wheel_and_sdist_tests() -> Problems:
    """The wheel works alone, and the tests of the source archive run from it."""
    files = [f"tests/test_{name}.py" for name in ("package", "wheel", "sdist")]
    yield from ran("pytest", "-q", "-m", "slow or not slow", *files)


def pythons() -> Problems:
    """The tests of the package pass on each claimed Python, on the lowest with old versions."""
    yield from failed([".ci/pythons", *facts.claimed_pythons()])


def documentation() -> Problems:
    """The documentation builds without a warning."""
    yield from failed(["make", "docs"])


# --- commands -------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    """The output of git; empty if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def ran(module: str, *arguments: str) -> Problems:
    """A problem if a module of this environment fails as a program."""
    yield from failed([sys.executable, "-m", module, *arguments])


def failed(command: list[str]) -> Problems:
    """A problem, with the last lines of the output, if a command fails."""
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, cwd=ROOT, text=True, **output)
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-SHOWN:])
        yield f"`{' '.join(command)}` failed:\n{last}"


if __name__ == "__main__":
    sys.exit(main())
