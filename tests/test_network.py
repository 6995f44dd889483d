"""No command and no test needs a network."""

import json
import shutil
import socket
import subprocess
import sys

import nibabel as nib
import numpy as np
import pytest


@pytest.mark.parametrize("host", ["example.org", b"example.org", "192.0.2.1"])
def test_the_guard_of_all_tests_refuses_to_look_up_who_is_elsewhere(refused, host):
    with pytest.raises(AssertionError, match=r"wanted to reach (192|example).*getaddrinfo"):
        socket.getaddrinfo(host, 80)
    assert len(refused) == 1
    refused.clear()


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_the_guard_of_all_tests_names_who_was_to_be_reached(refused, host):
    kind = socket.AF_INET6 if ":" in str(host) else socket.AF_INET
    for ask in ("connect", "connect_ex"):
        with socket.socket(kind) as tcp, pytest.raises(AssertionError, match=r"socket\.connect"):
            getattr(tcp, ask)((host, 80))
    with (
        socket.socket(kind, socket.SOCK_DGRAM) as udp,
        pytest.raises(AssertionError, match=r"socket\.sendto"),
    ):
        udp.sendto(b"", (host, 53))
    assert refused == [host] * 3
    refused.clear()


def test_the_guard_lets_this_machine_alone(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        client.connect(str(tmp_path / "socket"))


FEW = [
    *("--quick", "--permutations", "20", "--half-samples", "2", "--folds", "2"),
    *("--refinements", "--model", "--workers", "1"),
]
ATLAS = ["--atlas", "atlas.nii", "--labels", "atlas.csv"]
COMMANDS = [
    ["simulate", "--subjects", "20", "--regions", "6", "--sites", "2", "--out", "simulated"],
    ["check", "simulated/cohort.csv", "--group", "group", "--site", "site"],
    ["compare", "simulated/cohort.csv", "--group", "group", "--site", "site", *FEW, "--out", "out"],
    ["predict", "out/model.sgbn", "simulated/cohort.csv"],
    ["status", "out"],
    ["extract", "sub-*.nii", *ATLAS, "--workers", "2", "--out", "extracted"],
    ["reproduce", "exp2", "--networks", "Chain", "--simulations", "2", "--out", "exp2"],
    ["demo", "--subjects", "10", "--workers", "1", "--out", "demo"],
]
PROGRAM = """
import errno, json, socket, sys
from importlib import import_module
from sgbn.cli.main import main
from sgbn.comparison.settings import Settings

FEW = {"n_permutations": 20, "n_pairs": 2, "n_folds": 2}
quick = Settings.quick
figures = import_module("sgbn.comparison.figures")

def take_seconds():
    Settings.quick = lambda **more: quick(**FEW | more)
    figures._files = lambda comparison, name, kinds, dpi: dict.fromkeys(kinds, b"")

def code_of(words):
    if words[0] == "demo":  # `compare` has done and drawn the same, of fewer regions
        take_seconds()
    try:
        return main(words)
    except SystemExit as end:
        return end.code

try:
    socket.create_connection(("192.0.2.1", 80), 1).close()
except OSError as error:
    assert error.errno == errno.ENETUNREACH, error  # and not refused or slow
else:
    raise AssertionError("there is a network")
print(json.dumps([code_of(words) for words in json.loads(sys.argv[1])]), file=sys.stderr)
"""


def without_network(commands, folder):
    """Exit codes of commands, one after another in a process that has no network at all."""
    alone = ["unshare", "--map-root-user", "--net"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*alone, "true"], capture_output=True).returncode
    ):
        pytest.skip("this kernel gives us no network namespace (unshare --net)")
    words = [*alone, sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.long
def test_every_command_works_without_any_network(tmp_path):
    rng = np.random.default_rng(0)
    images = {"atlas": np.repeat([1.0, 2.0], 108).reshape(6, 6, 6)}
    images |= {f"sub-{k}": 1 + 0.1 * rng.random((6, 6, 6)) for k in range(3)}
    for name, data in images.items():
        nib.save(nib.Nifti1Image(data.astype(np.float32), np.eye(4)), tmp_path / f"{name}.nii")
    (tmp_path / "atlas.csv").write_text("index,name\n1,one\n2,two\n")
    helps = [[words[0], "--help"] for words in COMMANDS]
    commands = [*helps, *COMMANDS]
    codes = without_network(commands, tmp_path)
    failed = [words for words, code in zip(commands, codes, strict=True) if code != 0]
    assert not failed
