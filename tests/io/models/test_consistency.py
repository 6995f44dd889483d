import re
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone

import sgbn
from sgbn.core.exceptions import InputError
from sgbn.write.model_decoding import CLASSES, MISFITS, SHARED, check_object


def test_the_table_of_classes_has_only_keys_and_shapes_that_are_read():
    for line in [*CLASSES.values(), {"shapes": " ".join(SHARED.values())}]:
        assert set(line) <= {"home", "class", "like", "shapes", "not_finite", "left_out"}
        assert line.get("like", "learner") in SHARED
        assert all(
            re.fullmatch(r"[\w.]+:\w+\??(<f)?", item) for item in line.get("shapes", "").split()
        )


def test_what_a_fit_leaves_fits_together(classifier, analysis):
    check_object("SGBNClassifier", classifier)
    check_object("SGBNClassifier", clone(classifier))  # not fitted: there is nothing to fit
    check_object("Pipeline", analysis)
    for _, step in analysis.steps:
        check_object(type(step).__name__, step)


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("priors_", np.ones(3) / 3, "has the shape (3,), not (2,)"),
        ("priors_", np.array([2.0, -1.0]), "do not add up to 1"),
        ("priors_", [0.5, 0.5], "is not an array"),
        ("temperature_", -1.0, "not a number from 1e-06 to 1e+06"),
        ("temperature_", "hot", "not a number from"),
        ("temperature_", 1e308, "not a number from"),
        ("temperature_", 1e-320, "not a number from"),
        ("networks_", {}, "not have one network per class"),
        ("networks_", None, "not have one network per class"),
        ("n_features_in_", 7, "has the shape (6,), not (7,)"),
        ("n_features_in_", "six", "not a positive integer"),
        ("feature_names_in_", np.arange(6), "name of a feature is not text"),
        ("classes_", None, "is not an array"),
    ],
)
def test_a_classifier_of_parts_that_do_not_fit_is_refused(classifier, attribute, value, said):
    made = copy(classifier)
    setattr(made, attribute, value)
    with pytest.raises(InputError, match=re.escape(said)):
        check_object("SGBNClassifier", made)


def test_networks_of_other_variables_are_refused(classifier):
    small = sgbn.GaussianNetwork(np.zeros((2, 2)))
    made = copy(classifier)
    made.networks_ = dict.fromkeys(classifier.classes_.tolist(), small)
    with pytest.raises(InputError, match="one variable per feature"):
        check_object("SGBNClassifier", made)


@pytest.mark.parametrize(
    ("step", "attribute", "value", "said"),
    [
        (0, "_region_places", np.arange(7), "not hold positions|one median"),
        (0, "_kept_places", np.array([0, 99]), "not hold positions of columns"),
        (0, "_named_places", np.array([0.5]), "not hold positions of columns"),
        (0, "_names", [], "one name for each"),
        (0, "_centres", {None: np.zeros(3)}, "one median for each region"),
        (1, "location_", np.zeros((2, 5)), "has the shape (2, 5), not (2, 6)"),
        (1, "_fitted", None, "is not an array"),
        (2, "coef_", np.zeros((3, 6)), "(2,), not (3,)"),
        (3, "support_", np.ones(3, bool), "(3,), not (6,)"),
        (4, "mean_", np.zeros(2), "(2,), not (4,)"),
        (5, "coef_", np.zeros((2, 4)), "(2, 4), not (1, 4)"),
    ],
)
def test_steps_of_parts_that_do_not_fit_are_refused(analysis, step, attribute, value, said):
    made = copy(analysis[step])
    setattr(made, attribute, value)
    pattern = said if "|" in said else re.escape(said)
    with pytest.raises(InputError, match=pattern):
        check_object(type(made).__name__, made)


@pytest.mark.parametrize("steps", [[], None, [1], [("a",)], [("a", 1)], [(1, sgbn.SGBN())]])
def test_a_pipeline_has_steps(analysis, steps):
    made = clone(analysis)
    made.steps = steps
    with pytest.raises((InputError, *MISFITS)):
        check_object("Pipeline", made)


def test_the_column_of_sites_of_a_pipeline_is_a_name(analysis):
    made = clone(analysis)
    made.site_column_ = ["scanner"]
    with pytest.raises(InputError, match="site column"):
        check_object("Pipeline", made)


def test_a_pipeline_has_no_cache(analysis):
    made = clone(analysis)
    made.memory = "folder"
    with pytest.raises(InputError, match="cache"):
        check_object("Pipeline", made)


def test_variables_have_names():
    with pytest.raises(InputError, match="variable has no name"):
        check_object("GaussianNetwork", sgbn.GaussianNetwork(np.zeros((2, 2)), names=["a", ""]))


@pytest.mark.parametrize(
    ("attribute", "largest"), [("coef", 1e100), ("intercept", 1e100), ("noise_variance", 1e200)]
)
def test_networks_of_numbers_too_large_to_compute_with_are_refused(attribute, largest):
    edge = np.array([[0.0, 1.0], [0.0, 0.0]])
    parts = {"coef": edge, "intercept": np.ones(2), "noise_variance": np.ones(2)}
    at_most = parts | {attribute: largest * parts[attribute]}
    check_object("GaussianNetwork", sgbn.GaussianNetwork(**at_most))
    beyond = parts | {attribute: 1.01 * largest * parts[attribute]}
    with pytest.raises(InputError, match=f"{attribute} has an entry"):
        check_object("GaussianNetwork", sgbn.GaussianNetwork(**beyond))


@pytest.mark.parametrize("size", [1e-80, 1e80])
def test_a_fit_on_cells_of_any_size_that_is_taken_fits_together(regions, size):
    X, groups = regions
    fitted = sgbn.SGBNClassifier(sgbn.SGBN(n_kicks=0), temperature=1.0).fit(size * X, groups)
    for network in fitted.networks_.values():
        check_object("GaussianNetwork", network)
