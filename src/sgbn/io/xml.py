"""XML of unknown origin, read without entities and without endless depth."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from sgbn.exceptions import InputError

MAX_DEPTH = 20  # levels of elements in elements; CAT12's files need four, FSL's three


def xml_tree(content: bytes, name: str, remedy: str) -> ElementTree.Element:
    """Return the elements of an XML file that has no document type.

    `ElementTree` alone would expand entities, up to gigabytes, and nest as deep as the file does.

    Parameters
    ----------
    content : bytes
        The file, in any encoding that it declares.
    name : str
        What messages call the file.
    remedy : str
        Last sentence of every message: what the user can do.
    """
    builder = ElementTree.TreeBuilder()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise InputError(f"{name} is nested too deeply. {remedy}")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: Any) -> None:
        raise InputError(f"{name} defines entities or a document type. {remedy}")

    parser = expat.ParserCreate()
    parser.buffer_text = True  # one call per text, not one per line
    # Entities can only be defined in a document type. The parser has decoded the file by then, so
    # that no encoding hides them.
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(content, True)
        return builder.close()
    except InputError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:  # the last: an unknown encoding
        raise InputError(f"{name} is cut off or not XML ({error}). {remedy}") from error
