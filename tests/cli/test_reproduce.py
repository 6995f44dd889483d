from sgbn.cli import main


def test_exp1_runs_prints_and_resumes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    command = ["reproduce", "exp1", "--out", str(tmp_path / "exp1"), "--permutations", "3"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "paper's distance" in first
    assert "No COBRE table: set SGBN_DATA" in first
    assert (tmp_path / "exp1" / "exp1.png").exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert main([*command, "--alpha", "0.3"]) == 1
    assert "begun with other settings" in capsys.readouterr().err


def test_exp2_runs_prints_resumes_and_calibrates(tmp_path, capsys):
    out = tmp_path / "exp2"
    command = ["reproduce", "exp2", "--out", str(out), "--simulations", "2", "--networks", "Chain"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| chain | " in first
    assert (out / "exp2_errors.png").exists()
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert (out / "exp2.md").read_text() in first
    assert main([*command, "--calibrate"]) == 0
    calibrated = capsys.readouterr().out
    assert "in 2 simulations that are not evaluated" in calibrated
    assert (out / "calibration" / "calibration.md").read_text() in calibrated
    assert main([*command, "--alpha", "0.5"]) == 1
    assert "alpha: 0.32 there, 0.5 now" in capsys.readouterr().err
    assert main([*command[:-1], "asia"]) == 1
    assert "no network is called 'asia'" in capsys.readouterr().err
