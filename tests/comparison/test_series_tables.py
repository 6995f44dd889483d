import numpy as np

from sgbn.prepare.series_review import series_quality


def test_one_row_per_subject(compared_series, chains_of_series):
    table = compared_series.tables.series
    assert table["subject"].tolist() == [*chains_of_series.ids]
    assert table["group"].tolist() == chains_of_series.group.tolist()
    assert table["volumes"].tolist() == [*chains_of_series.n_volumes]
    assert (table["runs"] == 1).all()
    quality = series_quality(chains_of_series)
    for name in ("autocorrelation", "slow_power", "fast_power", "mean_fd"):
        assert np.array_equal(table[name], quality[name])
    patients = table["group"] == "patient"
    moments = compared_series.learners["patient"].moments_
    assert np.array_equal(table.loc[patients, "effective_volumes"], moments.n)
    assert np.array_equal(table.loc[patients, "ar_order"], moments.ar_order)


def test_table_one_describes_volumes_and_covariates(compared_series):
    table = compared_series.tables.table_one
    names = ["subjects", "volumes", "effective volumes", "age", "mean_fd", "site", "site"]
    assert table["characteristic"].tolist() == names
    assert table.loc[1, "test"] == "Welch's t"
    assert [*compared_series.cohort.covariates] == ["age", "mean_fd"]


def test_edges_say_how_many_subjects_support_them(compared_series):
    table = compared_series.tables.edges
    regions = compared_series.cohort.regions
    for row in table.to_dict("records"):
        learner = compared_series.learners[row["group"]]
        place = regions.index(row["source"]), regions.index(row["target"])
        assert row["support_share"] == learner.support_share_[place]
        assert row["survives"] == learner.survives_[place]
        assert row["weight"] == learner.coef_[place] == row["weight_std"]
        assert learner.coef_low_[place] == row["low"] <= row["weight"] <= row["high"]


def test_tables_without_meaning_for_series_are_empty(compared_series):
    tables = compared_series.tables
    assert tables.regional.empty
    assert tables.residuals.empty
    assert tables.models.empty


def test_weights_have_no_other_units(compared_series):
    table = compared_series.differences
    for group in compared_series.groups:
        assert np.array_equal(table[f"weight_std_{group}"], table[f"weight_{group}"])


def test_of_rows_there_is_no_such_table(networks_alone):
    assert networks_alone.tables.series.empty
    assert "support_share" not in networks_alone.tables.edges
