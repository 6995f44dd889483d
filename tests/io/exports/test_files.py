import json

import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.tables import beside, check_text, write_file, write_json, write_matrix, write_text


def test_a_file_that_fails_midway_leaves_the_old_one(tmp_path):
    path = write_text(tmp_path / "a.txt", "old é")

    def fail(stream):
        stream.write(b"half")
        raise KeyError("midway")

    with pytest.raises(KeyError):
        write_file(path, fail)
    assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text(encoding="utf-8") == "old é"


def test_a_folder_that_is_absent_is_named(tmp_path):
    with pytest.raises(InputError, match=r"absent.a\.txt' cannot be written: No such file"):
        write_text(tmp_path / "absent" / "a.txt", "")


def test_text_that_is_none_is_named(tmp_path):
    table = pd.DataFrame({"a": ["\ud800"]}, dtype=object)
    with pytest.raises(InputError, match=r"\\ud800' is not a character"):
        write_file(tmp_path / "a.csv", table.to_csv)
    assert list(tmp_path.iterdir()) == []


def test_json_keeps_its_order_and_has_no_nan(tmp_path):
    path = write_json(tmp_path / "a.json", {"b": 1, "a": [None, "é"]})
    assert list(json.loads(path.read_text())) == ["b", "a"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "b.json", {"a": float("nan")})


def test_a_matrix_has_all_digits(tmp_path):
    table = pd.DataFrame([[1 / 3, None], [0.0, -1e-300]], columns=["a b", 'c"d'])
    path = write_matrix(tmp_path / "a.tsv", table, header=True)
    pd.testing.assert_frame_equal(pd.read_csv(path, sep="\t"), table)
    assert "\tn/a\n" in path.read_text()


def test_a_stem_may_have_dots(tmp_path):
    assert beside(tmp_path / "v1.2", ".node") == tmp_path / "v1.2.node"
    with pytest.raises(InputError, match="not end with a file name"):
        beside("/", ".node")


@pytest.mark.parametrize("text", ["a\x00", "a\nb", "\x85", "\ud800", "\uffff"])
def test_text_that_files_cannot_hold_is_refused(text):
    with pytest.raises(InputError, match="Rename it"):
        check_text(["fine", text])


def test_all_other_text_is_fine():
    check_text(["<script>alert(1)</script>", "=cmd()", "ü 脑 🧠", "", 1.0, None])
