"""Formulas as MathML, made when the site is built: no script and no font is fetched by a reader.

The font for them, STIX Two Math, comes with ziamath and goes into the site (``FONT``).
"""

import re
from importlib.resources import files
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

FONT = str(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf")
THIN = "0.167em"
BAR = '<mo stretchy="false">&#x0007C;</mo>'  # of |x|; "given" is \mid
FUNCTION = re.compile(r"<m([io])>(log|exp|max|min|tr|expm)</m\1>(?=(.{28}))", re.DOTALL)


def _function(found: re.Match[str]) -> str:
    """Write the name of a function with thin spaces, but none before a bracket."""
    after = "0" if "&#x00028;" in found[3] or "<mi>" not in found[3] else THIN
    return f'<mo lspace="{THIN}" rspace="{after}">{found[2]}</mo>'


def mathml(latex: str, display: str) -> str:
    """Convert a formula."""
    try:
        text = convert(latex, display=display)
    except Exception as error:
        raise SphinxError(f"no MathML can be made of the formula {latex!r}: {error}") from error
    if "<mi>&</mi>" in text or "<mi>\\" in text:
        raise SphinxError(f"latex2mathml does not know all of the formula {latex!r}.")
    bar = BAR.replace("<mo", '<mo lspace="0" rspace="0"')
    return FUNCTION.sub(_function, text.replace(BAR, bar))


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    translator.body.append(mathml(node.astext(), "block") + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer that ``html_math_renderer = "mathml"`` asks for."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
