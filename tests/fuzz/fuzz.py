"""Search for bytes that a reader of files neither reads nor refuses by name.

    python tests/fuzz/fuzz.py --seconds 300 --out FOLDER [--readers table bif ...]

The search is guided by coverage (atheris, ``pip install "sgbn[fuzz]"``) and starts from files of
the package's own writers and from the cases that were found before (``corpus``). A case is bad if
it raises anything but an `InputError`, breaks a promise of its reader, takes longer than
`LONGEST` seconds or more memory than `MOST_MEMORY`. Bad cases are written to FOLDER/READER; put
them into ``corpus/READER`` once they are mended. Exit code 1 if there is any.

Each reader has a process of its own, which a crash or a limit ends; two run at a time.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
LONGEST = 10  # seconds a case
MOST_MEMORY = 2**29  # bytes that one case may add
MOST_ADDRESSES = 2**33  # bytes of a process: beyond them Python raises MemoryError
MOST_BYTES = 20_000  # of a case
SEED = 1
WATCHED = ["sgbn", "tomllib", "zipfile"]
# Compiled functions (numba) cannot be watched: modules with them are loaded before.
COMPILED = ("graph", "gaussian", "solvers", "structure.baselines", "discriminative", "inference")


def main() -> int:
    options = arguments()
    if options.one:
        return search(options.one, options.seconds, options.out, options.work)
    readers = options.readers or names()
    share = options.seconds * options.workers / len(readers)

    def one(name: str) -> tuple[str, int, int, str]:
        return run(name, share, options.out)

    with ThreadPoolExecutor(options.workers) as pool:
        found = list(pool.map(one, readers))
    for name, executions, bad, said in found:
        sys.stdout.write(f"{name:13} {executions:9,} executions, {bad} bad cases{said}\n")
    total, bad = sum(one[1] for one in found), sum(one[2] for one in found)
    sys.stdout.write(f"{'all readers':13} {total:9,} executions, {bad} bad cases\n")
    return int(bad > 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Search for bytes that break a reader.")
    parser.add_argument("--seconds", type=float, default=300, help="of all readers together")
    parser.add_argument("--out", type=Path, required=True, help="folder for bad cases")
    parser.add_argument("--readers", nargs="+", help="all if not given")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def names() -> list[str]:
    from readers import READERS

    return list(READERS)


def run(name: str, seconds: float, out: Path) -> tuple[str, int, int, str]:
    """Search one reader in a process; its executions, bad cases, and what else is to be said."""
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--one", name]
    command += ["--seconds", str(seconds), "--out", str(out)]
    log = folder / "log.txt"
    # made here: the process of a search ends without leaving its `with`
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-") as work, log.open("wb") as stream:
        command += ["--work", work]
        code = subprocess.run(command, stdout=stream, stderr=stream, check=False).returncode
    text = log.read_text(errors="replace")
    counts = re.findall(r"number_of_executed_units: (\d+)|^#(\d+)\t", text, re.MULTILINE)
    executions = max((int(a or b) for a, b in counts), default=0)
    bad = len([path for path in folder.iterdir() if path != log])
    ended = "" if code == 0 else f" (ended with code {code}, see {log})"
    return name, executions, max(bad, int(code != 0)), ended


def search(name: str, seconds: float, out: Path, work: Path) -> int:
    """Search one reader until the time is over; never returns, as libFuzzer does not."""
    import atheris

    for module in COMPILED:
        import_module(f"sgbn.{module}")
    with atheris.instrument_imports(include=WATCHED, enable_loader_override=False):
        import readers
    folder = out / name
    seen: set[str] = set()
    seeds = work / "seeds"
    seeds.mkdir()
    kept = sorted((HERE / "corpus" / name).glob("*"))
    cases = [*readers.SEEDS[name](), *(path.read_bytes() for path in kept)]
    for k, content in enumerate(cases):
        (seeds / f"{k:03}").write_bytes(content)
        with suppress(Exception):  # loads and compiles what is loaded at first use
            readers.read(name, content, work)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))

    def test_one_input(content: bytes) -> None:
        reset_peak()
        before = peak()
        try:
            readers.read(name, content, work)
            wrong = ""
        except Exception as error:
            wrong = place_of(error)
        if peak() - before > MOST_MEMORY:
            wrong = wrong or "memory"
        if wrong and wrong not in seen:
            seen.add(wrong)
            (folder / sha256(content).hexdigest()[:16]).write_bytes(content)
            sys.stderr.write(f"BAD CASE: {wrong}\n\n")
            sys.stderr.flush()

    atheris.Setup(
        [
            *(name, f"-max_total_time={max(1, round(seconds))}", f"-seed={SEED}"),
            *(f"-timeout={LONGEST}", "-rss_limit_mb=4096", f"-max_len={MOST_BYTES}"),
            *(f"-artifact_prefix={folder}/", "-print_final_stats=1", "-verbosity=1"),
            str(seeds),
        ],
        test_one_input,
    )
    atheris.Fuzz()
    return 0


def reset_peak() -> None:
    """Let `peak` start from the memory in use now, where the system can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Most bytes in use since `reset_peak`; since the start, where there is no such count."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def place_of(error: Exception) -> str:
    """Type and place of an error: one of each is kept."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "sgbn" in f.filename or f.filename.endswith("readers.py")]
    last = own[-1] if own else frames[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error!s:.200}"


if __name__ == "__main__":
    sys.exit(main())
