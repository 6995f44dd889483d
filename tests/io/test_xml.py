import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.text import MAX_DEPTH, xml_tree

ENTITIES = '<!DOCTYPE a [<!ENTITY b "c">]><atlas><label index="1">&b;</label></atlas>'


def test_elements_attributes_and_texts_are_read():
    root = xml_tree(b"<a><b index='1'>x<c/>y</b></a>", "file", "Mend it.")
    assert [(b.attrib["index"], "".join(b.itertext())) for b in root.iter("b")] == [("1", "xy")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ENTITIES.encode(), "entities"),
        (f"<?xml version='1.0' encoding='utf-16'?>{ENTITIES}".encode("utf-16"), "entities"),
        (b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1), "more than 20 levels"),
        (b"<a><b></a>", "not XML"),
        (b"<?xml version='1.0' encoding='none'?><a/>", "not XML"),
    ],
)
def test_what_may_grow_or_is_no_xml_is_refused_with_the_remedy(content, reason):
    with pytest.raises(InputError, match=rf"^file .*{reason}.* Mend it\.$"):
        xml_tree(content, "file", "Mend it.")
