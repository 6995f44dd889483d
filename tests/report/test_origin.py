from sgbn.comparison.steps.data import MOST_NAMED, origin_words


def test_facts_are_said_in_words():
    said = dict(
        origin_words(
            {
                "source": "a.csv",
                "delimiter": ";",
                "decimal": ",",
                "rows": 12,
                "ids": "sid",
                "left_out": {"": 1, "mci": 3},
                "regions": "all",
                "atlas": None,
                "totals": [],
                "ignored": ["sid", "note"],
            }
        )
    )
    assert said["rows left out"] == (
        "1 row without a group was left out; 3 rows of the group mci were left out"
    )
    assert (
        said["columns left out because they are neither regions nor named by the user"]
        == "sid, note"
    )
    assert said["cells are separated by"] == "semicolons"
    assert said["decimal mark"] == "comma"
    assert said["names of subjects"] == "column sid"
    assert said["rows that were read"] == "12"
    assert not any("atlas" in title or "totals" in title for title in said)


def test_several_tables_have_their_facts_each():
    said = origin_words(
        {
            "tables": [{"source": "lh.txt"}, {"source": "rh.txt"}],
            "participants": {"source": "people.tsv", "columns": ["age"], "not_in_table": 2},
            "ids": "row numbers",
        }
    )
    assert said == [
        ("table 1: source", "lh.txt"),
        ("table 2: source", "rh.txt"),
        ("participants: source", "people.tsv"),
        ("participants: columns that were used", "age"),
        ("participants: rows of subjects that are not in the table", "2"),
        ("names of subjects", "none: rows are numbered"),
    ]


def test_what_the_findings_say_is_not_said_again():
    facts = {"unnamed_sites": {"site": {"sites": 2, "told": 0.167}}, "repeated": ["s1"], "rows": 3}
    facts |= {"unnamed_motion": {"mean_fd": {"p": 0.1}}, "taken_motion": "mean_fd"}
    facts |= {"censored": {"volumes": 2}}
    assert origin_words(facts) == [("rows that were read", "3")]


def test_nothing_is_shown_as_python_writes_it():
    many = [f"c{k}" for k in range(MOST_NAMED + 2)]
    ((title, text), (_, counts)) = origin_words({"own_fact": many, "counts": {"a": 1, "b": [2, 3]}})
    assert title == "own fact"
    assert text.endswith("c19 and 2 more")
    assert counts == "a: 1, b: 2, 3"
