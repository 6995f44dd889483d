"""The search itself; it starts where atheris is installed, its parts everywhere."""

import runpy
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("resource")  # there is none on Windows
FUZZ = runpy.run_path(str(Path(__file__).with_name("fuzz.py")))
LARGE = 2**27  # bytes; malloc may keep arrays below 2**25 bytes, and use them again
CAN_RESET = Path("/proc/self/clear_refs").exists()


def added_by(n_bytes):
    FUZZ["reset_peak"]()
    before = FUZZ["peak"]()
    np.ones(n_bytes, np.uint8)
    return FUZZ["peak"]() - before


@pytest.mark.skipif(not CAN_RESET, reason="the system keeps one peak for the life of a process")
def test_memory_below_an_earlier_peak_is_seen():
    assert added_by(LARGE) > 0.9 * LARGE
    assert added_by(LARGE // 2) > 0.4 * LARGE
    assert added_by(1) < 0.1 * LARGE


@pytest.mark.parametrize("code", [0, 77])
def test_the_folder_of_a_search_is_gone_when_its_process_has_ended(monkeypatch, tmp_path, code):
    folders = []

    def ended(command, **_):
        folders.append(Path(command[command.index("--work") + 1]))
        (folders[0] / "case").write_bytes(b"left behind")
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(subprocess, "run", ended)
    assert FUZZ["run"]("npy", 1, tmp_path)[:3] == ("npy", 0, int(code != 0))
    assert not folders[0].exists()
