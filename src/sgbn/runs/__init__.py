"""Run tasks in parallel, with progress, and resume them. Only this package starts workers.

In: a function and the arguments of each task. Out: their results, from memory or from a folder.
Start reading at ``tasks.py``, then ``study.py``.

`parallel` and `Study` run tasks in processes of this machine. Within ``on_dask`` and ``on_slurm``
the tasks run on the workers of a Dask cluster. Results are the same to the bit, because a task
depends only on its arguments (a seed among them), and BLAS uses one thread in every task.

A worker holds one copy of the data that all tasks share, and the arguments and results of the tasks
that it runs.
"""

from sgbn.runs.dask import ClusterWarning, on_dask
from sgbn.runs.files import UNFINISHED, Arrays, read_result, versions, write_atomically, write_json
from sgbn.runs.slurm import on_slurm
from sgbn.runs.study import Results, Study, StudyStatus, find_studies, study_status
from sgbn.runs.tasks import n_processors, parallel

__all__ = [
    "UNFINISHED",
    "Arrays",
    "ClusterWarning",
    "Results",
    "Study",
    "StudyStatus",
    "find_studies",
    "n_processors",
    "on_dask",
    "on_slurm",
    "parallel",
    "read_result",
    "study_status",
    "versions",
    "write_atomically",
    "write_json",
]
