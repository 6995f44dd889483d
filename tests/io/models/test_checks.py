import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.model_decoding import require, require_type


def test_what_is_wrong_is_refused_with_its_message():
    require(True, "never said")
    with pytest.raises(InputError, match="it has no part"):
        require(False, "it has no part.")


def test_a_value_of_another_type_is_refused_and_shown_in_short():
    assert require_type([1], list) == [1]
    with pytest.raises(InputError, match="of another type") as caught:
        require_type("x" * 1000, list)
    assert len(str(caught.value)) < 120
