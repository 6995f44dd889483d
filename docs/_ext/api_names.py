"""Names in the API reference: which members a class lists, and where a name in a docstring leads.

A class lists what sgbn wrote, not what it has from scikit-learn. A name between single backticks
is a link if a page describes something of that name, and plain code otherwise, as the name of a
parameter is. A name that begins with ``sgbn.`` and cannot be found is a mistake, and a warning.
"""

from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

DESCRIBED = ("class", "function", "exception")


def _home(member: Any) -> str:
    """Return the module in which a method or property was written."""
    for attribute in ("__func__", "fget", "func"):
        member = getattr(member, attribute, None) or member
    return getattr(member, "__module__", None) or ""


def skip(_app: Sphinx, _what: str, name: str, member: Any, skipped: bool, _options: Any) -> bool:
    """Leave out what comes from elsewhere, and the requests for metadata that scikit-learn adds."""
    return skipped or not _home(member).startswith("sgbn") or name.endswith("_request")


def _exists(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part, None)
        return thing is not None
    return False


def resolve(app: Sphinx, env: Any, node: Any, content: nodes.Element) -> nodes.Node | None:
    """Find the page of a name that is written in short, or from where it is defined."""
    if node.get("refdomain") != "py" or node.get("reftype") != "obj":
        return None
    target = node["reftarget"]
    own = [
        (name, entry)
        for name, entry in env.get_domain("py").objects.items()
        if entry.objtype in DESCRIBED and name.split(".")[-1] == target.split(".")[-1]
    ]
    if own:
        name, entry = min(own, key=lambda found: (found[0].count("."), found[0]))
        return make_refnode(
            app.builder, node["refdoc"], entry.docname, entry.node_id, content, name
        )
    return None if target.startswith("sgbn.") and not _exists(target) else content


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to autodoc, and to names that Sphinx does not find by itself."""
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
