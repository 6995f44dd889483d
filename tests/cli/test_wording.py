import pytest

from sgbn.cli.options import in_options, with_options


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("name them (regions=, --regions).", "name them (--regions)."),
        ("leave it out (on_error='skip', --on-error skip).", "leave it out (--on-error skip)."),
        ("give --site my site (site='my site').", "give --site my site."),
        ("say --rows-are-subjects, Settings(rows_are_subjects=True)", "say --rows-are-subjects"),
        (
            "no column 'x', named in covariates=. Check",
            "no column 'x', named in --covariates. Check",
        ),
        ("n_permutations is 3", "--permutations is 3"),
        ("n_sites is 1: give 0", "--sites is 1: give 0"),
        ("the column 'n_sites' is constant", "the column 'n_sites' is constant"),  # the user's own
        ("SGBNEnsemble(n_pairs=0) there", "SGBNEnsemble(n_pairs=0) there"),
    ],
)
def test_arguments_of_python_become_options(message, said):
    assert in_options(message) == said


def test_a_setting_at_the_beginning_is_an_option():
    assert with_options("level is 2: give less") == "--level is 2: give less"
    assert with_options("at this level n_folds is 1") == "at this level --folds is 1"


@pytest.mark.parametrize(
    "message",
    ["'/data/n_sites/regions.csv' has no rows.", "/scratch/n_permutations.2/work is full."],
)
def test_parts_of_paths_stay_as_they_are(message):
    assert in_options(message) == message
