"""After a build: every local link leads somewhere, and no page loads anything from the network."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
LOADED_RELATIONS = ("stylesheet", "icon", "preload", "preconnect", "dns-prefetch")


class _Page(HTMLParser):
    """Links of a page, what it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if "href" in given:
            relation = given.get("rel", "").split()
            is_loaded = tag == "link" and any(name in relation for name in LOADED_RELATIONS)
            (self.loaded if is_loaded else self.links).add(given["href"])
        self.loaded |= {given[name] for name in given if (tag, name) in LOADED}


def problems(folder: Path) -> Iterator[str]:
    """Describe what is wrong with the pages of a folder."""
    pages = {path.resolve(): _Page(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(folder.resolve())
        for link in sorted(page.links | page.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    yield f"{where} loads {link} from the network"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{where} links to {link}, which is not there"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where} links to {link}, and that page has no such place"


def check(app: Sphinx, error: Any) -> None:
    """Warn of each problem."""
    if error is None and app.builder.name == "html":
        for problem in problems(Path(app.outdir)):
            logger.warning(problem)


def setup(app: Sphinx) -> dict[str, bool]:
    """Check when the build is done, after extensions that still write pages then."""
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
