"""The few lines of HTML that a notebook shows for an object. Every name is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_repr(
    title: str,
    lines: Iterable[str] = (),
    header: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
) -> str:
    """Return a title, a table and lines of text as HTML. Floats have three significant digits.

    Parameters
    ----------
    title : str
        First line, in bold.
    lines : iterable of str
        Paragraphs below the table.
    header : sequence of str
        Names of the columns. If it is empty, the table is left out.
    rows : iterable of sequences
        Cells of the table, row by row.
    """
    parts = [f"<p><b>{escape(title)}</b></p>"]
    if header:
        body = "".join(_row("td", row) for row in rows)
        parts.append(f"<table><thead>{_row('th', header)}</thead><tbody>{body}</tbody></table>")
    parts += [f"<p>{escape(line)}</p>" for line in lines]
    return f"<div>{''.join(parts)}</div>"


def _row(tag: str, cells: Iterable[object]) -> str:
    # Names of groups and regions come from the user. Unescaped, a notebook would run their HTML.
    return f"<tr>{''.join(f'<{tag}>{escape(_text(cell))}</{tag}>' for cell in cells)}</tr>"


def _text(cell: object) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
