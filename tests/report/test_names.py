from sgbn.write.tables import file_names


def test_names_are_safe_and_differ_whatever_the_case():
    groups = ["a/b", "a b", "A_B", "ab", "../x", "=", "con trol"]
    names = file_names(groups)
    assert list(names) == groups
    # names after BIDS have letters and digits only
    letters = {name.lower().replace("_", "").replace("-", "") for name in names.values()}
    assert len(letters) == len(groups)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyzABX0123456789_-") for name in names.values()
    )


def test_a_plain_name_stays():
    assert file_names(["control"]) == {"control": "control"}
