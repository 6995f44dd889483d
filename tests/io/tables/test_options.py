import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.roles import Options


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group": "a", "id": "a"}, "'a' is named as id and as group"),
        ({"pair": "a", "group": "a"}, "'a' is named as pair and as group"),
        ({"pair": "a", "covariates": "a"}, "'a' is named as covariate and as pair"),
        ({"subject": "a", "id": "a"}, "'a' is named as id and as subject"),
        ({"subject": "a", "pair": "a"}, "'a' is named as pair and as subject"),
        ({"block": "a", "site": "a"}, "'a' is named as site and as block"),
        ({"pair": 3}, "pair is 3. Give the name"),
        ({"covariates": ["a", "a"]}, "'a' is named as covariate and as covariate"),
        ({"group": 3}, "group is 3. Give the name"),
        ({"covariates": 3}, "covariates is 3"),
        ({"groups": ["x"]}, "groups= .*group=, --group"),
        ({"group": "a", "groups": []}, "groups is empty"),
        ({"atlas": 5}, "atlas is 5"),
        ({"missing": {"age": -9}}, "missing= is a mapping"),
    ],
)
def test_roles_must_be_names_and_distinct(given, message):
    with pytest.raises(InputError, match=message):
        Options.of(**given)


def test_one_name_is_a_list_of_one_and_none_is_none():
    options = Options.of(group="dx", groups=[1.0, "b"], covariates="age", measure=None)
    assert options.groups == ("1", "b")
    assert (options.covariates, options.measure, options.regions) == (("age",), (), None)
    assert options.named == {"age": "covariate", "dx": "group"}


def test_the_pair_may_be_the_id():
    assert Options.of(id="s", pair="s").named == {"s": "id"}
    assert Options.of(id="s", pair="p").named == {"s": "id", "p": "pair"}


def test_smooth_covariates_are_named_as_covariates_too():
    assert Options.of(covariates=["age", "sex"], smooth="age").smooth == ("age",)
    with pytest.raises(InputError, match=r"'age' is named as smooth .* not as a covariate"):
        Options.of(covariates="sex", smooth="age")
