"""Whatever a file or a DataFrame holds, reading it gives a cohort or an InputError."""

import json

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import pandas as hp

from sgbn.cohort.cohort import Cohort
from sgbn.core.problems import InputError
from sgbn.read.table import read_table, write_table

TABLE = "subject_id,group,age,sex,site,lh_insula_thickness,rh_insula_thickness\n" + "".join(
    f"00{k},{'CTR' if k % 2 else 'SCZ'},{20.5 + k},{'M' if k % 3 else 'F'},Köln,{2 + k / 8},2.7\n"
    for k in range(12)
)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5)
LABELS = WORDS.filter(
    lambda text: text not in ("NA", "nan", "NaN", "null", "NULL", "None", ".", "-")
)
NUMBERS = st.floats(-1e100, 1e100) | st.just(float("nan"))
# Each example writes or reads a file. The long profile still tries hundreds.
a_tenth = settings(
    max_examples=settings.default.max_examples // 10,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def cohorts(draw):
    n, m = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    column = st.lists(LABELS, min_size=n, max_size=n)
    names = draw(st.lists(LABELS, min_size=m + 2, max_size=m + 2, unique_by=str.casefold))
    values = draw(st.lists(st.lists(NUMBERS, min_size=m, max_size=m), min_size=n, max_size=n))
    ids = draw(st.lists(LABELS, min_size=n, max_size=n, unique=True))
    return Cohort(
        values,
        [f"r{name}" for name in names[:m]],
        [f"s{name}" for name in ids],
        group=[f"{label}g" for label in map(str.casefold, draw(column))],
        covariates={
            f"n{names[m]}": draw(st.lists(NUMBERS, min_size=n, max_size=n)),
            f"t{names[m + 1]}": [f"x{label}" for label in map(str.casefold, draw(column))],
        },
    )


@given(cohort=cohorts(), suffix=st.sampled_from([".csv", ".tsv", ".parquet"]))
@a_tenth
def test_any_cohort_survives_a_file(tmp_path, cohort, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(cohort, path)
    read = read_table(
        path,
        id="subject_id",
        group="group",
        covariates=list(cohort.covariates),
        regions=list(cohort.regions),
        missing=[],
    )
    assert read.ids == cohort.ids
    assert read.group.tolist() == cohort.group.tolist()
    np.testing.assert_array_equal(read.values, cohort.values)
    for name, column in cohort.covariates.items():
        np.testing.assert_array_equal(read.covariates[name], column)


TEXT = st.text(st.sampled_from("abgroup0123456789,;\t\n\r\"'.- |=NAé\0#"), max_size=200)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "group": st.sampled_from(["group", "a", "b"]),
        "id": st.sampled_from(["a", "b"]),
        "pair": st.sampled_from(["a", "b", "group"]),
        "subject": st.sampled_from(["a", "b"]),
        "block": st.sampled_from(["a", "b"]),
        "regions": st.sampled_from(["all", "*", ["a", "b"]]),
        "decimal": st.just(","),
        "delimiter": st.sampled_from([",", ";", " ", "\t", "|"]),
        "missing": st.sampled_from([[], [1], "0"]),
    },
)


def cohort_or_error(source, **options):
    try:
        cohort = read_table(source, **options)
    except InputError:
        return
    else:
        assert len(cohort.regions) >= 2
        json.dumps(dict(cohort.provenance))


@given(content=st.one_of(st.binary(max_size=200), TEXT.map(str.encode)), options=OPTIONS)
@a_tenth
def test_any_file_gives_a_cohort_or_an_input_error(tmp_path, content, options):
    path = tmp_path / "fuzz.csv"
    path.write_bytes(content)
    cohort_or_error(path, **options)


@given(cut=st.integers(0, len(TABLE)), piece=st.binary(max_size=12), sep=st.sampled_from(",;\t |"))
@a_tenth
def test_a_damaged_table_gives_a_cohort_or_an_input_error(tmp_path, cut, piece, sep):
    content = TABLE.replace(",", sep).encode()
    path = tmp_path / "fuzz.csv"
    path.write_bytes(content[:cut] + piece + content[cut + len(piece) // 2 :])
    cohort_or_error(path, group="group", covariates=["age", "sex"], site="site")


FRAMES = st.integers(0, 4).flatmap(
    lambda width: hp.data_frames(
        [
            hp.column(
                ["a", "b", "group", "lh_insula"][k],
                elements=st.one_of(
                    st.none(),
                    st.floats(),
                    st.integers(),
                    st.booleans(),
                    st.text(max_size=4),
                    st.complex_numbers(),
                    st.dates(),
                ),
                dtype=object,
            )
            for k in range(width)
        ]
    )
)


@given(frame=FRAMES, options=OPTIONS)
@a_tenth
def test_any_data_frame_gives_a_cohort_or_an_input_error(frame, options):
    before = frame.copy(deep=True)
    cohort_or_error(frame, **options)
    pd.testing.assert_frame_equal(frame, before)
