"""The documentation site: `make docs` writes it to build/docs.

Its pages are docs/*.md, README.md as the first page, CONTRIBUTING.md, CHANGELOG.md, and a
reference of the package made from its docstrings.
"""

import re
import sys
from importlib import import_module
from pathlib import Path, PurePosixPath

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import reference  # noqa: E402

import tictactoe_env  # noqa: E402

SOURCE = "https://github.com/tictactoe-env/tictactoe-env/blob/main/"
ROOT_PAGES = {"index": "README.md", "contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
REFERENCES = {"api": "tictactoe_env"} | {
    f"api_{name}": f"tictactoe_env.{name}" for name in ("wrappers", "sb3", "pettingzoo")
}
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")

project = "tictactoe-env"
author = "The tictactoe-env authors"
copyright = author
version = release = tictactoe_env.__version__
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"{project} {version}"
html_baseurl = "https://tictactoe-env.github.io/tictactoe-env/"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
smartquotes = False
suppress_warnings = ["misc.highlighting_failure"]  # boards and outputs in fences are no program


def page_of(path: str) -> str:
    """The address on the site of a file of the repository, its page or else its source."""
    pages = {file: f"{page}.md" for page, file in ROOT_PAGES.items()}
    pages |= {f"docs/{file.name}": file.name for file in HERE.iterdir() if file.is_file()}
    return pages.get(path, SOURCE + path)


def site_links(text: str, folder: str) -> str:
    """The text of a file in `folder` of the repository, its relative links as on the site."""

    def link(found: re.Match[str]) -> str:
        parts: list[str] = []
        for part in PurePosixPath(folder, found[1]).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        return f"]({page_of('/'.join(parts))}{found[2] or ''})"

    return LINK.sub(link, text)


def read_page(app: object, name: str, content: list[str]) -> None:
    """Fill the pages that stand for other files, and mend the links of all."""
    folder = "docs"
    if name in ROOT_PAGES:
        folder, own = "", content[0]
        content[0] = (HERE.parent / ROOT_PAGES[name]).read_text(encoding="utf-8") + "\n" + own
    elif name in REFERENCES:
        content[0] += reference.page(import_module(REFERENCES[name]))
    content[0] = site_links(content[0], folder)


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read_page)  # type: ignore[attr-defined]
