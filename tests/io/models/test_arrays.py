import io
import struct

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.core.exceptions import InputError
from sgbn.write.model_decoding import DTYPES, from_npy, order_of, to_npy

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@settings(max_examples=settings().max_examples // 5)
@given(
    array=hnp.arrays(st.sampled_from(DTYPES).map(np.dtype), shapes),
    order=st.sampled_from("CF"),
)
def test_arrays_come_back_with_their_bits_and_their_order(array, order):
    array = np.asarray(array, order=order)
    back = from_npy(to_npy(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes("A") == array.tobytes("A")
    assert order_of(back) == order_of(array)
    assert back.flags.writeable


def test_it_is_a_file_that_numpy_reads():
    array = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(np.load(io.BytesIO(to_npy(array)), allow_pickle=False), array)


def test_big_endian_numbers_are_written_as_all_others():
    assert to_npy(np.arange(3, dtype=">f8")) == to_npy(np.arange(3.0))


@pytest.mark.parametrize("dtype", [object, complex, "M8[s]", "U3", np.longdouble])
def test_what_is_no_plain_number_is_not_written(dtype):
    if np.dtype(dtype) == np.dtype(float):
        pytest.skip("this machine has no longer floats")
    with pytest.raises(InputError, match="cannot be saved"):
        to_npy(np.zeros(2, dtype))


def test_an_array_of_more_axes_than_are_read_is_not_written():
    assert from_npy(to_npy(np.zeros((1, 1, 1, 2)))).shape == (1, 1, 1, 2)
    with pytest.raises(InputError, match=r"with 5 axes cannot be saved.*at most 4"):
        to_npy(np.zeros((1, 1, 1, 1, 2)))


def headed(header, version=(1, 0), length=None):
    text = header.encode("latin1")
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", size) + text


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (headed(HUGE % (2**62)), "size 0 into shape"),
        (headed(HUGE % "2**62"), "not an npy file"),
        (headed(HUGE % -1) + bytes(8), "not the shape"),
        (headed(HUGE % "True") + bytes(8), "not the shape"),
        (headed(HUGE.replace("<f8", "|O") % 1) + bytes(8), "not plain numbers"),
        (headed(HUGE.replace("<f8", ">f8") % 1) + bytes(8), "not plain numbers"),
        (headed(HUGE % 1) + bytes(9), "multiple of element size"),
        (headed(HUGE % "1, 1, 1, 1, 1") + bytes(8), "not the shape"),
        (headed(" " * 5000 + HUGE % 1) + bytes(8), "not an npy file"),
        (headed("[" * 900), "not an npy file"),
        (headed("{}", length=60000), "not an npy file"),
        (headed(HUGE % 1, version=(2, 0)), "version is not 1.0"),
        (b"", "not an npy file"),
    ],
)
def test_a_header_that_does_not_fit_is_refused_before_anything_is_made_of_it(content, said):
    with pytest.raises(InputError, match=said):
        from_npy(content)
