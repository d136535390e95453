"""What the files of the repository say about a release, for the tests and before a tag."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/tictactoe-env/tictactoe-env"
NOT_OF_THE_INDEX = (
    r"git clone|first release|not on PyPI|(?:`|^ *)make [a-z]+"
    r"|pip install (?:-e )?[\"']?\.|\b(?:train|evaluate|play)\.py"
)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def matched(pattern: str, text: str) -> str:
    """The first group of the first match, "" without one."""
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


def own_version() -> str:
    """`__version__`, read without importing the package."""
    return matched(r'^__version__ = "(.+)"$', read("tictactoe_env/__init__.py"))


def is_released() -> bool:
    """Whether the version is one that gets a tag, and none on the way to it, such as 0.1.0.dev0."""
    return ".dev" not in own_version()


def versions() -> dict[str, str]:
    """What each file says of the version, with its date if it says one; "" if it says nothing."""
    citation = read("CITATION.cff")
    cited = matched(r"^version: (\S+)$", citation)
    date = matched(r'^date-released: "?([\d-]+)"?$', citation)
    return {
        "CHANGELOG.md": matched("^## (.+)$", read("CHANGELOG.md")),
        "CITATION.cff": f"{cited}, {date}" if date else cited,
        "README.md": matched(r"\bversion=\{(.+?)\}", read("README.md")),
    }


def expected_versions() -> dict[str, str]:
    """What they must say: once the version is released its date, before that no date."""
    version = own_version()
    dated = f"{version}, {date_in_changelog() or 'YYYY-MM-DD'}"
    return {
        "CHANGELOG.md": dated if is_released() else "Unreleased",
        "CITATION.cff": dated if is_released() else version,
        "README.md": version,
    }


def date_in_changelog() -> str:
    """The date of the newest version in the changelog; "" before the first release."""
    return matched(r"^## \d\S*, (\d{4}-\d\d-\d\d)$", read("CHANGELOG.md"))


def changes(version: str) -> str:
    """What stands in the changelog under the heading of a version, or under "Unreleased"."""
    section = rf"(?s)^## {re.escape(version)}(?:, [\d-]+)?\n(.*?)(?=^## |\Z)"
    return matched(section, read("CHANGELOG.md")).strip()


def claimed_pythons() -> list[str]:
    """The minor versions of Python 3 that the metadata name, such as "11"."""
    return re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', read("pyproject.toml"))


UNRELEASED = r"<!-- unreleased: [^\n]*-->\n(.*?)<!-- end of unreleased -->\n"
"""A part of a document that is true until the first release."""


def unreleased_note() -> str:
    """The first paragraph of README.md that is true until the first release, else ""."""
    return matched(f"(?s){UNRELEASED}", read("README.md")).partition("\n\n")[0].strip()


def documents() -> list[str]:
    """The files that may have parts that are true until the first release."""
    return ["README.md", *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md"))]


def built(folder: Path, *kinds: str, isolated: bool = False) -> list[Path]:
    """Build "wheel", "sdist" or both into a folder; the files, wheels first."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder)]
    command += [] if isolated else ["--no-isolation"]
    command += [f"--{kind}" for kind in kinds]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the package cannot be built:\n{done.stdout}{done.stderr}")
    return sorted(folder.iterdir(), key=lambda path: path.suffix != ".whl")


def wrong_words(description: str) -> list[str]:
    """What a long description says of a clone or of a release to come."""
    return re.findall(NOT_OF_THE_INDEX, description, re.MULTILINE)


def wrong_links(html: str, version: str) -> list[str]:
    """The links and pictures of a rendered long description that do not work on the index.

    They must be absolute; those into the repository must name this version and an existing file; a
    picture must not be SVG, which GitHub serves as text. A badge may come from shields.io.
    """
    links = re.findall(r'\b(href|src)="([^"]*)"', html)
    return [link for kind, link in links if not works(link, kind == "href", version)]


def works(link: str, is_page: bool, version: str) -> bool:
    """Whether one of these links works, which leads to a page or else to a picture."""
    path = link.split("#")[0]
    if path.endswith(".svg") and not is_page:
        return False
    if path.startswith(("https://img.shields.io/", f"{REPOSITORY}/actions/")):
        return True
    raw = REPOSITORY.replace("github.com", "raw.githubusercontent.com") + f"/v{version}/"
    if path.startswith((f"{REPOSITORY}/", raw)):
        own = f"{REPOSITORY}/blob/v{version}/" if is_page else raw
        return path.startswith(own) and (ROOT / path.removeprefix(own)).is_file()
    return is_page and link.startswith(("#", "http://", "https://"))
