"""The documentation site: `make docs` writes it to build/docs.

Its pages are docs/*.md, the notebooks, README.md as the first page, CONTRIBUTING.md, CHANGELOG.md,
examples/README.md and a reference of the package, which is made from docstrings.
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
ROOT_PAGES["libraries"] = "examples/README.md"
REFERENCES = {"api": "tictactoe_env"} | {
    f"api_{name}": f"tictactoe_env.{name}" for name in ("wrappers", "sb3", "pettingzoo")
}
# What is public of the sub-packages and of further modules, beside the names of the package.
FURTHER = {
    name: [
        public
        for public in import_module(f"tictactoe_env.{name}").__all__
        if public not in tictactoe_env.__all__
    ]
    for name in ("exact", "engines", "search", "certificates", "games", "trained")
}
FURTHER["notation"] = ["parse_board", "board_text", "parse_game", "game_text", "cell_text"]
FURTHER["render"] = ["ansi", "rgb_array", "svg", "svg_games"]
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")

project = "tictactoe-env"
author = "The tictactoe-env authors"
copyright = author
version = release = tictactoe_env.__version__
extensions = ["myst_nb"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"{project} {version}"
html_baseurl = "https://tictactoe-env.github.io/tictactoe-env/"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": "https://github.com/tictactoe-env/tictactoe-env/",
    "source_branch": "main",
    "source_directory": "docs/",
    "top_of_page_buttons": ["view"],
}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nitpicky = True
# The types in signatures are those of Python, NumPy and Gymnasium, whose references are elsewhere.
nitpick_ignore_regex = [(r"py:.*", r".*")]
smartquotes = False
suppress_warnings = ["misc.highlighting_failure"]  # boards and outputs in fences are no program

nb_execution_mode = "off"  # the notebooks are kept with their outputs


def page_of(path: str) -> str:
    """The address on the site of a file of the repository, its page or else its source."""
    pages = {file: f"{page}.md" for page, file in ROOT_PAGES.items()}
    files = (file.relative_to(HERE).as_posix() for file in HERE.rglob("*") if file.is_file())
    pages |= {f"docs/{file}": file for file in files}
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
    """Fill the pages that stand for other files or for the reference, and mend the links of all."""
    if name.startswith("notebooks/"):  # their links are relative on the site as they are here
        return
    if name in ROOT_PAGES:
        file = PurePosixPath(ROOT_PAGES[name])
        folder, own = "" if file.parent == PurePosixPath() else str(file.parent), content[0]
        text = (HERE.parent / file).read_text(encoding="utf-8")
        content[0] = site_links(text, folder) + "\n" + own
        return
    if name in REFERENCES:
        content[0] += reference.page(import_module(REFERENCES[name]))
    elif name == "api_modules":
        for module, names in FURTHER.items():
            found = import_module(f"tictactoe_env.{module}")
            content[0] += f"## tictactoe_env.{module}\n\n{reference.page(found, names)}\n"
    content[0] = site_links(content[0], "docs")


def finish_site(app: object, error: Exception | None) -> None:
    """Add the page to play on, and raise an error if a link of the site leads nowhere."""
    import links

    from apps.web import demo

    if error is None and app.builder.format == "html":  # type: ignore[attr-defined]
        site = Path(app.outdir)  # type: ignore[attr-defined]
        demo.write(site / "demo.html")
        wrong = links.wrong_links(site)
        if wrong:
            raise ValueError("these links of the site lead nowhere:\n" + "\n".join(wrong))


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read_page)  # type: ignore[attr-defined]
    app.connect("build-finished", finish_site)  # type: ignore[attr-defined]
