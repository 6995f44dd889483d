import pytest
from sklearn.linear_model import LogisticRegression

import sgbn
from sgbn.core.exceptions import InputError
from sgbn.write.model_decoding import CLASSES, build, class_named, is_estimator, name_of, parameters


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_of_the_table_is_there_and_known_by_its_name(name):
    cls = class_named(name)
    assert cls.__name__ == CLASSES[name].get("class", name)
    assert is_estimator(name) or parameters(name)


def test_names_of_a_file_import_nothing():
    for name in ("os", "system", "os.system", "LogisticRegression", "__import__", ""):
        with pytest.raises(InputError, match="not the name of a class"):
            class_named(name)


def test_only_the_class_itself_is_known_not_one_that_derives_from_it_or_is_called_so():
    class SGBN(sgbn.SGBN):
        pass

    assert name_of(sgbn.SGBN()) == "SGBN"
    assert name_of(SGBN()) is None
    assert name_of(LogisticRegression()) is None


@pytest.mark.parametrize("name", ["fit", "cpdag_", "__class__", "a b", "_store"])
def test_no_method_or_property_is_replaced(name):
    with pytest.raises(InputError, match="it has an attribute"):
        build("SGBN", {name: 1})


def test_a_parameter_that_an_older_version_lacked_has_its_default():
    assert build("SGBN", {"gamma": 0.5}).get_params() == sgbn.SGBN(0.5).get_params()


def test_an_attribute_has_the_name_it_has_now_whatever_an_older_version_called_it():
    made = build("SGBN", {"_arrows": "some"})
    assert made.arrows_ == "some"
    assert not hasattr(made, "_arrows")
