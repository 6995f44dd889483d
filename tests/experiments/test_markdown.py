from sgbn.paper.experiments.experiment import provenance, table


def test_a_table_has_a_ruler_and_a_line_a_row():
    assert table(["a", "b"], [[1, "x"], [2.5, "y"]]) == [
        "| a | b |",
        "|---|---|",
        "| 1 | x |",
        "| 2.5 | y |",
    ]


def test_provenance_names_command_and_versions():
    study = {"command": ["sgbn", "demo"], "versions": {"python": "3.11", "numpy": "2.0"}}
    assert provenance(study) == "Command: `sgbn demo`. Versions: python 3.11, numpy 2.0."
