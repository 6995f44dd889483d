from dataclasses import replace

from sgbn.prepare.review import review
from sgbn.prepare.series_review import check_censored

from .series import cohort_of


def test_censored_volumes_are_said_with_what_was_left_out_beside_them():
    facts = {"volumes": 12, "subjects": 3, "short": 17}
    cohort = replace(cohort_of(), provenance={"censored": facts})
    (found,) = [one for one in review(cohort).findings if "censored" in one.what]
    assert "12 volumes of 3 subjects are censored" in found.what
    assert "17 more volumes are left out" in found.what
    (found,) = check_censored(replace(cohort, provenance={"censored": facts | {"short": 0}}))
    assert "left out" not in found.what


def test_without_censoring_nothing_is_said():
    assert not [*check_censored(cohort_of())]
