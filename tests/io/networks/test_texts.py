import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbn.core.exceptions import InputError
from sgbn.read.network import number_of, number_text, read_text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_to_the_last_bit(value):
    text = number_text(value)
    assert "+" not in text
    assert number_of(text, 1) == value


@pytest.mark.parametrize("text", ["", "nan", "1e999", "0x1", "1_0", "a", "1 2", "--1", "१"])
def test_what_is_no_number_is_refused_by_line(text):
    with pytest.raises(InputError, match=r"line 3: .* finite number"):
        number_of(text, 3)


def test_line_ends_marks_and_encodings_are_one(tmp_path):
    path = tmp_path / "t"
    for content in (b"\xef\xbb\xbfa\r\n\xc3\xbc", "a\rü".encode("latin-1")):
        path.write_bytes(content)
        assert read_text(path) == "a\nü"
    path.write_bytes(gzip.compress(b"a")[:-4])
    with pytest.raises(InputError, match="damaged"):
        read_text(path)
