"""The documentation site: `make docs` writes it to build/docs.

Its pages are docs/*.md, the notebooks, examples/README.md, a reference that is made from the
docstrings of the package, and the page to play on, demo.html.
"""

import re
import sys
from pathlib import Path, PurePosixPath

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests")]

import packaging_facts  # noqa: E402
import reference  # noqa: E402

import tictactoe_env  # noqa: E402

SOURCE = "https://github.com/tictactoe-env/tictactoe-env/blob/main/"
LIBRARIES = "examples/README.md"  # is the page "libraries"
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
html_logo = html_favicon = "logo.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": "https://github.com/tictactoe-env/tictactoe-env/",
    "source_branch": "main",
    "source_directory": "docs/",
    "top_of_page_buttons": ["view"],
}
if note := packaging_facts.unreleased_note():  # above every page, until README.md has it no more
    linked = re.sub(r"\[(.+?)\]\((.+?)\)", r'<a href="\2">\1</a>', note)
    html_theme_options["announcement"] = re.sub("`(.+?)`", r"<code>\1</code>", linked)
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nitpicky = True
# The types in signatures are those of Python, NumPy and Gymnasium, whose references are elsewhere.
nitpick_ignore_regex = [(r"py:.*", r".*")]
smartquotes = False
suppress_warnings = ["misc.highlighting_failure"]  # boards and outputs in fences are no program

nb_execution_mode = "off"  # the notebooks are kept with their outputs


def page_of(path: str) -> str:
    """The address on the site of a file of the repository: its page, or else its source."""
    if path == LIBRARIES:
        return "libraries.md"
    file = HERE.parent / path
    return file.relative_to(HERE).as_posix() if file.is_relative_to(HERE) else SOURCE + path


def site_links(text: str, folder: str) -> str:
    """The text of a file in `folder` of the repository, its links as on the site."""

    def link(found: re.Match[str]) -> str:
        parts: list[str] = []
        for part in PurePosixPath(folder, found[1]).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        return f"]({page_of('/'.join(parts))}{found[2] or ''})"

    return LINK.sub(link, text)


def read_page(app: object, name: str, content: list[str]) -> None:
    """Fill the pages that are made from something else, and adapt the links of all."""
    if name == "libraries":
        content[0] = (HERE.parent / LIBRARIES).read_text(encoding="utf-8")
    elif name == "reference":
        content[0] += reference.page()
    if not name.startswith("notebooks/"):  # their links are relative on the site as they are here
        content[0] = site_links(content[0], "examples" if name == "libraries" else "docs")


# What the theme's pages lack for people who listen to them: levels and names.
HEARD = {
    ' role="heading">': ' role="heading" aria-level="2">',
    ' class="announcement-content">': ' class="announcement-content" aria-label="Note">',
    ' class="content-icon-container">': ' class="content-icon-container" role="navigation" '
    'aria-label="This page">',
    '<div id="search-results">': '<h1 class="visually-hidden">Search</h1><div id="search-results">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="Contents" class="toc-drawer',
}


def finish_site(app: object, error: Exception | None) -> None:
    """Add the page to play on, and raise an error if a link of the site leads nowhere.

    Links to the page to play on are relative, so that a copy of the site works offline.
    """
    import links

    from apps.web import demo

    if error is None and app.builder.format == "html":  # type: ignore[attr-defined]
        site = Path(app.outdir)  # type: ignore[attr-defined]
        for file in site.rglob("*.html"):
            text = file.read_text(encoding="utf-8")
            for written, heard in HEARD.items():
                text = text.replace(written, heard)
            up = "../" * (len(file.relative_to(site).parts) - 1)
            text = text.replace(
                f'external" href="{html_baseurl}demo.html', f'internal" href="{up}demo.html'
            )
            file.write_text(text, encoding="utf-8")
        demo.write(site / "demo.html")
        wrong = links.wrong_links(site)
        if wrong:
            raise ValueError("these links of the site lead nowhere:\n" + "\n".join(wrong))


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read_page)  # type: ignore[attr-defined]
    app.connect("build-finished", finish_site)  # type: ignore[attr-defined]
