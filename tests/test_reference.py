import pytest

from sgbn.cohort.design import (
    choose_reference,
    control_groups,
    looks_like_controls,
    usual_reference,
    why_reference,
)
from sgbn.core.exceptions import InputError

CONTROLS = (
    *("control", "Controls", "CTR", "ctrl", "CTL", "CON", "HC", "hv", "NC", "CN", "TD", "TDC"),
    *("TC", "healthy", "Normal", "healthy controls", "control_group", "HealthyControl", "HC group"),
    *("healthy-control", "Healthy Volunteers", "cognitively normal", "typically developing"),
    *("healthycontrols", "age-matched controls", "control 2", "HC1", "Controls (young)"),
)
PATIENTS = (
    *("AD", "ASD", "MCI", "patient", "SCZ", "abnormal", "uncontrolled", "unhealthy", "contusion"),
    *("impulse control disorder", "normal pressure hydrocephalus", "non-control", "young", "1"),
    *("sick", "concussion", "not healthy", "0", "", "group", "tdcs stimulation"),
)


@pytest.mark.parametrize("name", CONTROLS)
def test_names_of_controls_are_known(name):
    assert looks_like_controls(name)
    assert usual_reference(["AAA", name, "zzz"]) == name


@pytest.mark.parametrize("name", PATIENTS)
def test_other_names_are_not_taken_for_controls(name):
    assert not looks_like_controls(name)


def test_zero_is_the_norm_among_numbers_only():
    assert usual_reference(["-1", "0", "1"]) == "0"
    assert usual_reference(["-1.0", "0.0"]) == "0.0"
    assert usual_reference(["0", "-A"]) == "-A"
    assert usual_reference(["1", "2"]) == "1"


def test_without_a_name_of_controls_it_is_the_first_by_name():
    assert usual_reference(("young", "mid", "old")) == "mid"
    assert "the first by name: no name" in why_reference(("young", "mid", "old"))


def test_several_that_look_like_controls_are_named():
    groups = ("AD", "HC", "controls")
    assert control_groups(groups) == ["HC", "controls"]
    assert usual_reference(groups) == "HC"
    assert "'HC' and 'controls', which look like controls" in why_reference(groups)


def test_a_named_reference_goes_before_and_must_be_there():
    assert choose_reference(("AD", "HC"), "AD") == "AD"
    assert choose_reference(("AD", "HC")) == "HC"
    assert why_reference(("AD", "HC"), "AD") == "as you named it"
    assert why_reference(("AD", "HC")) == "its name looks like controls"
    with pytest.raises(InputError, match=r"no group is called 'hc'.*Did you mean 'HC'"):
        choose_reference(("AD", "HC"), "hc")
