from dataclasses import replace

import numpy as np

from sgbn import Cohort
from sgbn.cohort.atlas import load_atlas
from sgbn.prepare.review import check_measures, regions_by_measure, review

THICKNESS = ("lh_insula_thickness", "rh_insula_thickness", "lh_cuneus_thickness")
ASEG = ("Left-Lateral-Ventricle", "Left-Accumbens-area")


def cohort_of(regions, scales=None, atlas="desikan_killiany"):
    rng = np.random.default_rng(0)
    values = rng.normal(2.5, 0.1, (40, len(regions)))
    if scales is not None:
        values *= scales
    ids = [f"s{k}" for k in range(40)]
    known = None if atlas is None else load_atlas(atlas)
    return Cohort(values, regions, ids, group=np.array([*"ab" * 20]), atlas=known)


def test_thickness_and_volumes_are_a_warning_with_a_remedy():
    cohort = cohort_of((*THICKNESS, *ASEG))
    (finding,) = check_measures(cohort)
    assert finding.level == "warning"
    assert "thickness (3: " in finding.what
    assert "volume (2: " in finding.what
    assert "--measure thickness" in finding.action
    assert "eTIV" in finding.action
    assert finding in review(cohort).findings
    known = replace(cohort, covariates={"eTIV": np.arange(40.0)})
    (finding,) = check_measures(known)
    assert "eTIV" not in finding.action


def test_one_measure_is_fine_and_an_area_of_the_accumbens_is_its_name():
    assert not list(check_measures(cohort_of(THICKNESS)))
    assert not list(check_measures(cohort_of(ASEG)))
    assert not list(check_measures(cohort_of(("lh_insula", "rh_insula"))))


def test_names_alone_tell_measures_where_no_atlas_is_known():
    cohort = cohort_of(("one_thickness", "two_thickness", "three_area"), atlas=None)
    assert list(regions_by_measure(cohort)) == ["thickness", "area"]
    (finding,) = check_measures(cohort)
    assert "eTIV" not in finding.action


def test_names_that_say_nothing_count_by_their_scale():
    regions = ("lh_insula", "rh_insula", "Left-Lateral-Ventricle", "Left-Hippocampus")
    assert not list(check_measures(cohort_of(regions)))
    (finding,) = check_measures(cohort_of(regions, scales=[1, 1, 2000, 2000]))
    assert "an unknown measure (2: " in finding.what
