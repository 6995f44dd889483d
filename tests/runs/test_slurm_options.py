import pytest

from sgbn.core.exceptions import InputError
from sgbn.runs.slurm import KEYS, SlurmOptions


def test_text_and_mapping_say_the_same():
    text = (
        "partition=long,short, account = brain ,walltime=1-00:00:00,memory=8GB,jobs=3,processes=2"
    )
    said = {
        "partition": "long,short",  # as sbatch takes several
        "account": "brain",
        "walltime": "1-00:00:00",
        "memory": "8GB",
        "jobs": 3,
        "processes": 2,
    }
    assert SlurmOptions.of(text) == SlurmOptions.of(said) == SlurmOptions(**said)


def test_what_may_be_said_more_than_once_is_kept_in_order():
    text = "extra=--exclude=n1,n2,setup=module load a,setup=module load b,extra=--exclusive"
    chosen = SlurmOptions.of(text)
    assert chosen.extra == ("--exclude=n1,n2", "--exclusive")
    assert chosen.setup == ("module load a", "module load b")
    assert SlurmOptions.of({"extra": "--exclusive"}).extra == ("--exclusive",)


def test_memory_is_that_of_all_processes_of_a_job():
    assert SlurmOptions.of("processes=3").job_memory == "12GB"
    assert SlurmOptions.of("processes=3,memory=500 MB").job_memory == "500 MB"


def test_a_runner_takes_only_what_srun_does_not_decide():
    assert SlurmOptions.of("runner") == SlurmOptions(runner=True)
    chosen = SlurmOptions.of("runner,interface=ib0,scratch=$TMPDIR")
    assert (chosen.runner, chosen.interface, chosen.scratch) == (True, "ib0", "$TMPDIR")
    assert SlurmOptions.of({"runner": True}) == SlurmOptions(runner=True)
    with pytest.raises(InputError, match="runner does not accept jobs, because srun"):
        SlurmOptions.of("runner,jobs=3")
    for text in ("jobs=3,runner", "runner=yes", "jobs=3,runner=no"):
        with pytest.raises(InputError, match="runner is in the wrong place"):
            SlurmOptions.of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partiton=long", r"called 'partiton'\. Did you mean 'partition'\?"),
        ("nonsense=1", r"called 'nonsense'\. There are 'partition', 'account'"),
        ("long", r"'long' in 'long' has no value\. Give key=value"),
        ("partition=long,memory", r"'memory' in .* has no value"),
        ("partition=", r"partition='' is not one line of text"),
        ("jobs=2,jobs=3", r"contains jobs twice\. Give it once"),
        ("memory=much", r"memory=much .*Give .*such as 8GB"),
        ("memory=8", r"memory=8 is not a size"),
        ("scratch=/my folder", r"scratch=/my folder has white space"),
        ("scratch=/tmp;reboot", r"a special character of the shell"),
        ("jobs=0", r"jobs=0 .*Give a whole number"),
        ("jobs=-1", r"jobs=-1 is not a valid count"),
        ("processes=1.5", r"processes=1\.5 is not a valid count"),
        ("partition=a\nrm -r x", r"is not one line of text\. Give a line, or omit partition"),
    ],
)
def test_what_cannot_be_used_is_named(text, message):
    with pytest.raises(InputError, match=message):
        SlurmOptions.of(text)


def test_nothing_at_all_is_a_valid_wish():
    assert SlurmOptions.of("") == SlurmOptions()
    assert set(KEYS) < set(vars(SlurmOptions()))
