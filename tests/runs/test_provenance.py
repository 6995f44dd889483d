from sgbn import __version__
from sgbn.runs.files import differences, versions


def test_versions_are_those_of_what_numbers_depend_on():
    found = versions()
    assert found["sgbn"] == __version__
    assert {"python", "numpy", "scipy", "numba"} <= set(found)
    found["sgbn"] = "another"
    assert versions()["sgbn"] == __version__


def test_differences_are_one_line_each():
    there, now = {"alpha": 1, "seed": 0, "data": "0a"}, {"seed": 0, "data": "0b", "beta": 2}
    assert differences(there, now) == [
        "  alpha: 1 there, (not set) now",
        "  beta: (not set) there, 2 now",
        "  the data are not the same (cells, labels, names, or the lobes of the regions)",
    ]
    assert not differences(there, there)
