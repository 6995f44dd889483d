from sgbn.report.names import file_names


def test_names_are_safe_and_differ_whatever_the_case():
    groups = ["a/b", "a b", "A_B", "../x", "=", "con trol"]
    names = file_names(groups)
    assert list(names) == groups
    assert len({name.lower() for name in names.values()}) == len(groups)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyzABX0123456789_-") for name in names.values()
    )


def test_a_plain_name_stays():
    assert file_names(["control"]) == {"control": "control"}
