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
