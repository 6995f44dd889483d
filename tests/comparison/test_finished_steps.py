import pytest

from sgbn.comparison.step import finished_steps, seconds_of_step


def test_a_step_keeps_the_seconds_of_the_start_that_did_it(tmp_path):
    assert finished_steps(tmp_path) == {}
    assert seconds_of_step(tmp_path, "networks", 12.5) == 12.5
    assert seconds_of_step(tmp_path, "networks", 0.1) == 12.5
    assert seconds_of_step(tmp_path, "models", 3.0) == 3.0
    assert finished_steps(tmp_path) == {"networks": 12.5, "models": 3.0}


def test_without_a_folder_nothing_is_kept():
    assert seconds_of_step(None, "networks", 2.0) == 2.0
    assert finished_steps(None) == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"seconds": "many"}', '{"seconds": null}'])
def test_a_damaged_note_is_written_anew(text, tmp_path):
    seconds_of_step(tmp_path, "networks", 12.5)
    (tmp_path / "steps" / "networks.json").write_text(text)
    assert finished_steps(tmp_path) == {}
    assert seconds_of_step(tmp_path, "networks", 7.0) == 7.0
    assert finished_steps(tmp_path) == {"networks": 7.0}
