from sgbn import simulate_cohort
from sgbn.comparison import Settings, compare


def test_groups_come_with_the_reference_first():
    found = compare(simulate_cohort(20, regions=5), Settings.networks_only(reference="patient"))
    assert found.groups == ("patient", "control")
    assert found.reference == "patient"
    assert len(found.cohort) == 40
