"""Check the built site: every link between its pages leads somewhere, and it works offline."""

from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("source", "src"), ("link", "href")}


class Link(NamedTuple):
    """A link of a page. loaded: whether a browser loads it with the page, as it does a picture."""

    target: str
    loaded: bool


class Page(HTMLParser):
    """The links and the anchors of an HTML page."""

    def __init__(self, html: str):
        super().__init__()
        self.links: list[Link] = []
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the links and anchors of a tag."""
        found = dict(attrs)
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value and not value.startswith("data:"):
                canonical = tag == "link" and found.get("rel") == "canonical"
                self.links.append(Link(value, (tag, name) in LOADED and not canonical))


def wrong_links(site: Path) -> list[str]:
    """A line for each link to a missing page or anchor, and for each file loaded from elsewhere."""
    files = sorted(site.rglob("*.html"))
    pages = {file.resolve(): Page(file.read_text(encoding="utf-8")) for file in files}
    return [
        f"{file.relative_to(site.resolve())}: {link.target}"
        for file, page in pages.items()
        for link in page.links
        if not leads_somewhere(link, file, pages)
    ]


def leads_somewhere(link: Link, file: Path, pages: dict[Path, Page]) -> bool:
    """True if the target of a link in `file` exists; a page of another site does, a script not.

    A fragment that begins with "/" is an address of the page to play on.
    """
    parts = urlsplit(link.target)
    if parts.scheme or parts.netloc:
        return not link.loaded
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target in pages and parts.fragment and not parts.fragment.startswith("/"):
        return unquote(parts.fragment) in pages[target].anchors
    return target.exists()
