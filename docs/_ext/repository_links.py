"""Links to files outside docs/, which work on GitHub as they are written, work on the site too.

The results of the benchmarks become pages (copied to docs/results). Any other file is offered as a
download, which is what MyST does.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

RESULTS = "results"
REWRITTEN = (  # in pages of docs/; what they become
    (r"\]\(\.\./benchmarks/results/?\)", f"]({RESULTS}/index.md)"),
    (r"\]\(\.\./benchmarks/results/", f"]({RESULTS}/"),
    (r"\]\(\.\./(CHANGELOG|CONTRIBUTING)\.md", lambda found: f"]({found[1].lower()}.md"),
    (r"\]\(\.\./docs/", "]("),
)
CONTENTS = """# Results of the benchmarks

Each page was written by the command that it names. [What they say](../benchmarks.md).

```{toctree}
:maxdepth: 1
:glob:

*
```
"""


def copy_results(app: Sphinx) -> None:
    """Copy the pages and figures of the results; what did not change is left as it is."""
    source, target = Path(app.srcdir).parent / "benchmarks" / "results", app.srcdir / RESULTS
    target.mkdir(exist_ok=True)
    contents = {path.name: path.read_bytes() for path in source.glob("*.png")}
    contents |= {path.name: _with_title(path).encode() for path in source.glob("*.md")}
    contents["index.md"] = CONTENTS.encode()
    for name, content in contents.items():
        copy = target / name
        if not copy.exists() or copy.read_bytes() != content:
            copy.write_bytes(content)
    for copy in target.iterdir():
        if copy.name not in contents:
            copy.unlink()


def _with_title(path: Path) -> str:
    text = path.read_text()
    return text if text.startswith("# ") else f"# {path.stem}\n\n{text}"


def rewritten(text: str) -> str:
    """Text of a page with its links turned to where the site has the files."""
    for pattern, replacement in REWRITTEN:
        text = re.sub(pattern, replacement, text)
    return text


def rewrite(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """Turn the links of a page."""
    source[0] = rewritten(source[0])


def rewrite_included(app: Sphinx, path: Path, _docname: str, content: list[str]) -> None:
    """Turn the links of a file of the top folder that a page includes, such as the changelog."""
    if (app.srcdir / path).resolve().parent == Path(app.srcdir).parent:
        from_docs = re.sub(r"\]\((?![a-z]+:|[#/])", "](../", content[0])
        content[0] = rewritten(from_docs)


def setup(app: Sphinx) -> dict[str, bool]:
    """Copy before pages are looked for, and turn links when they are read."""
    app.connect("builder-inited", copy_results)
    app.connect("source-read", rewrite)
    app.connect("include-read", rewrite_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
