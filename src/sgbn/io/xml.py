"""Read XML of unknown origin safely: entities are refused, and the depth is limited."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from sgbn.core.exceptions import InputError

MAX_DEPTH = 20  # levels of nested elements; CAT12's files need four, FSL's files three


def xml_tree(content: bytes, name: str, remedy: str) -> ElementTree.Element:
    """Return the root element of an XML file; raise InputError if the file is not safe to read.

    `ElementTree` alone is not safe. It expands entities, which can fill gigabytes of memory, and it
    accepts any depth.

    Parameters
    ----------
    content : bytes
        The bytes of the file, in the encoding that the file declares.
    name : str
        Name of the file in messages.
    remedy : str
        Last sentence of every message. It says what the user can do.
    """
    builder = ElementTree.TreeBuilder()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise InputError(f"{name} has more than {MAX_DEPTH} levels of elements. {remedy}")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: Any) -> None:
        raise InputError(f"{name} defines entities or a document type. {remedy}")

    parser = expat.ParserCreate()
    parser.buffer_text = True  # one call per text, not one per line
    # Entities can only be defined in a document type. The parser decodes the file before it calls
    # these functions, so an unusual encoding cannot hide an entity.
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
    except (expat.ExpatError, ValueError, LookupError) as error:  # LookupError: unknown encoding
        raise InputError(f"{name} is cut off or not XML ({error}). {remedy}") from error
