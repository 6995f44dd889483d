"""One function a reader of files: any bytes give a result or a named error, and nothing else.

Each function of `READERS` writes the bytes to a file, reads it, and checks what was promised of the
result. `SEEDS` makes, with the package's own writers, a few whole files of each kind, from which a
search starts. `fuzz.py` searches; `test_readers.py` repeats what was found.
"""

import gzip
import io
import json
import math
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd

import sgbn
from sgbn.cli.main import parser
from sgbn.cli.options import config_text, with_config
from sgbn.cli.predict import predictions
from sgbn.core.graph import is_dag
from sgbn.core.problems import DataWarning, InputError
from sgbn.read.cat12 import read_regions
from sgbn.read.extract import measure_image
from sgbn.read.freesurfer import read_stats
from sgbn.read.label_atlas import load_label_atlas, read_label_names
from sgbn.write.formats import FORMATS, network_text
from sgbn.write.model_decoding import from_npy, to_npy
from sgbn.write.model_files import MANIFEST, MODEL

SHEET = "xl/worksheets/sheet1.xml"
LARGEST_LABEL = 10**15  # what the reader of labels says that it takes
ROLES = {"group": "group", "covariates": ["age", "sex"], "site": "site"}
# How a table is read is part of the case: the first byte chooses.
OPTIONS = (
    {},
    {"regions": "all"},
    ROLES,
    {**ROLES, "regions": "*", "pair": "subject_id"},
    {"group": "group", "groups": ["CTR", "SCZ"], "missing": [-9, "x"], "regions": "all"},
    {"id": "age", "decimal": ",", "regions": "all"},
    {"delimiter": ";", "missing": [], "regions": ["lh_insula_thickness", "rh_insula_thickness"]},
    {"delimiter": " ", "exclude": "rh_*", "atlas": "dk", "measure": "thickness"},
)
ATLAS = """region,hemisphere,lobe,x,y,z,volume_mm3
insula,L,insula,-38,2.5,1e1,6000
insula,R,insula,38,2,10,
brainstem,,subcortex,0,-30,-30,20000
"""
STATS = """# cvs_version 7.4.1
# Measure Cortex, MeanThickness, Mean Thickness, 2.39891, mm
# NRows 2
# ColHeaders StructName NumVert ThickAvg
insula 3215 2.897
cuneus 2419 1.954
"""
NUCLEI = """# Left Thalamic nuclei volume statistics
1 1  0 120.5 AV
2 2  0 300.25 MV(Re)
"""
REGION_FILE = """<?xml version="1.0"?>
<S><cobra><ids>[1;2;3]</ids><names><item>lTha</item><item>rTha</item><item>lTha</item></names>
<data><Vgm>[3.5;NaN;4]</Vgm><Vwm><item>1</item><item/><item>2</item></Vwm></data></cobra></S>
"""
BIF = """network small { property version 1 ; } // as JavaBayes writes it
variable "a b" { type discrete [ 2 ] { yes, no }; }
variable c { type discrete [ 2 ] { yes, no }; }
variable d { type discrete [ 2 ] { yes, no }; }
probability ( "a b" ) { table 0.5, 0.5; }
probability ( c | "a b" ) { (yes) 0.1, 0.9; (no) 0.2, 0.8; /* rows */ }
probability ( d "a b" c ) { default 0.5, 0.5; }
"""
LABELS = (
    "index\tname\n1\tInsula L\n2\tInsula R\n",
    "# colour table\n1 ctx-lh-insula 25 5 25 0\n2 ctx-rh-insula 25 100 40 0\n",
    '1 255 0 0 1 1 1 "Insula L"\n2 0 255 0 1 1 1 "Insula R"\n',
    "<atlas><header><type>Probabilistic</type></header><data>"
    '<label index="0" x="1">Insula &amp; L</label></data></atlas>',
)
FREESURFER = (
    "lh.aparc.thickness\tlh_insula_thickness\tlh_cuneus_thickness\tBrainSegVolNotVent\teTIV\n"
    "subjects/sub-01\t2.5\t1.9\t1100000\t1.5e6\nsub-02\t2.7\t2.0\t1000000\t1400000\n"
)


# Tables


@cache
def cohort() -> sgbn.Cohort:
    n = 8
    return sgbn.Cohort(
        np.arange(4.0 * n).reshape(n, 4) ** 1.5 / 7,
        [
            "lh_insula_thickness",
            "rh_insula_thickness",
            "lh_cuneus_thickness",
            "rh_cuneus_thickness",
        ],
        [f"00{k}" for k in range(n)],
        group=["CTR", "SCZ"] * (n // 2),
        covariates={"age": 20.5 + np.arange(n), "sex": list("MF" * (n // 2))},
        site=["Köln", "B", "B", "Köln"] * (n // 4),
    )


def check_cohort(found: sgbn.Cohort) -> None:
    assert len(found.regions) >= 2
    assert found.values.shape == (len(found.ids), len(found.regions))
    assert not np.isinf(found.values).any()
    assert len(set(found.ids)) == len(found.ids)
    json.dumps(dict(found.provenance))


def table(content: bytes, folder: Path, suffix: str = ".csv") -> None:
    options = OPTIONS[content[0] % len(OPTIONS)] if content else {}
    check_cohort(sgbn.read_table(written(content[1:], folder, suffix), **options))


def excel(content: bytes, folder: Path) -> None:
    table(content, folder, ".xlsx")


def parquet(content: bytes, folder: Path) -> None:
    table(content, folder, ".parquet")


def sheet(content: bytes, folder: Path) -> None:
    """A page of an Excel file that is whole but for it."""
    with zipfile.ZipFile(io.BytesIO(made(".xlsx"))) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    parts[SHEET] = content[1:]
    excel(content[:1] + zipped(parts), folder)


def participants(content: bytes, folder: Path) -> None:
    people = written(content[1:], folder, ".tsv")
    regions = pd.DataFrame(cohort().values, columns=cohort().regions)
    regions.insert(0, "participant_id", [f"sub-{name}" for name in cohort().ids])
    options = OPTIONS[2] if content[:1] == b"2" else {}
    check_cohort(sgbn.read_table(regions, participants=people, **options))


def freesurfer(content: bytes, folder: Path) -> None:
    options = {"regions": "all"} if content[:1] == b"1" else {"covariates": ["eTIV"]}
    check_cohort(sgbn.read_freesurfer(written(content[1:], folder, ".txt"), **options))


# Networks, atlases, images


def bif(content: bytes, folder: Path) -> None:
    network = sgbn.read_bif(written(content, folder, ".bif"))
    assert is_dag(network.graph)
    assert len(set(network.names)) == len(network.graph)


def other_tool(content: bytes, folder: Path) -> None:
    """A network in the format that the first byte chooses."""
    formats = list(FORMATS)
    name = formats[content[0] % len(formats)] if content else "dot"
    found = sgbn.read_network(written(content[1:], folder, ".txt"), name)
    assert found.graph.shape == (len(found.names),) * 2
    assert not found.graph.diagonal().any()
    assert is_dag(found.graph & ~found.graph.T)
    if found.network is not None:
        check_model(found.network)


def atlas(content: bytes, folder: Path) -> None:
    for region in sgbn.read_atlas(written(content, folder, ".csv")).regions:
        assert region.name
        assert all(map(math.isfinite, (region.x, region.y, region.z)))


def label_names(content: bytes, folder: Path) -> None:
    for value, name in read_label_names(written(content, folder, ".txt")).items():
        assert name
        assert abs(value) <= LARGEST_LABEL


def stats_file(content: bytes, folder: Path) -> None:
    found = read_stats(written(content, folder, ".stats"))
    assert found.rows
    assert all(len(cells) == len(found.columns) for cells in found.rows.values())
    assert all(map(math.isfinite, found.totals.values()))


def region_file(content: bytes, folder: Path) -> None:
    for atlas_regions in read_regions(written(content, folder, ".xml")).values():
        names = atlas_regions.names
        assert len(set(names)) == len(names)
        assert all(len(values) == len(names) for values in atlas_regions.data.values())


def nifti(content: bytes, folder: Path) -> None:
    path = written(content, folder, ".nii.gz" if content[:2] == b"\x1f\x8b" else ".nii")
    found = measure_image(path, small_atlas(), "mean", 0.0)
    assert not np.isinf(found["values"]).any()


def label_image(content: bytes, folder: Path) -> None:
    path = written(content, folder, ".nii.gz" if content[:2] == b"\x1f\x8b" else ".nii")
    found = load_label_atlas(path)
    assert found.index.max() == len(found.regions)


@cache
def small_atlas():
    import nibabel as nib

    return load_label_atlas(nib.Nifti1Image(np.ones((3, 3, 3), np.int16), np.diag([2, 2, 2, 1])))


# Models and settings


def model(content: bytes, folder: Path) -> None:
    check_model(sgbn.load(written(content, folder, ".sgbn")))


def model_json(content: bytes, folder: Path) -> None:
    """A model whose checksums are right, whatever its numbers say; the first byte says which."""
    kinds = ("network", "classifier", "analysis")
    source = made_model(kinds[content[0] % len(kinds)] if content else "network")
    with zipfile.ZipFile(io.BytesIO(source)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(parts.pop(MANIFEST))
    parts[MODEL] = content[1:]
    about["files"] = {name: sha256(part).hexdigest() for name, part in parts.items()}
    model(zipped({**parts, MANIFEST: json.dumps(about).encode()}), folder)


def npy(content: bytes, folder: Path) -> None:
    found = from_npy(content)
    assert found.nbytes <= len(content)
    assert to_npy(found)


def check_model(found: object) -> None:
    if isinstance(found, sgbn.GaussianNetwork):
        assert is_dag(found.coef)
        for numbers in (found.coef, found.intercept, found.noise_variance):
            assert np.isfinite(numbers).all()
    elif hasattr(found, "predict"):
        try:
            table = predictions(found, subjects())
        except ValueError as error:
            if type(error) is not ValueError:  # as scikit-learn refuses columns
                raise
            return
        numbers = table.select_dtypes("number").drop(columns="predicted", errors="ignore")
        assert np.isfinite(numbers.to_numpy(float)).all()


def config(content: bytes, folder: Path) -> None:
    """`sgbn compare --config`: parsed, or refused by us or by argparse with its usage."""
    path, own = written(content, folder, ".toml"), compare_parser()
    words = with_config(own, ["--config", str(path), "--out", "x"])
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()), suppress(SystemExit):
        own.parse_args(words)


@cache
def compare_parser():
    return parser().parse_args(["compare", "--out", "x"]).parser


READERS: dict[str, Callable[[bytes, Path], None]] = {
    one.__name__: one
    for one in (
        *(table, participants, freesurfer, excel, sheet, parquet),
        *(bif, other_tool, atlas, label_names, stats_file, region_file, nifti, label_image),
        *(model, model_json, npy, config),
    )
}


def read(name: str, content: bytes, folder: Path) -> bool:
    """Read bytes by one reader; whether they were taken. Anything but a named error is raised."""
    with quietly():
        try:
            READERS[name](content, folder)
        except InputError:
            return False
    return True


@contextmanager
def quietly() -> Iterator[None]:
    """Silence, but for arithmetic that goes wrong in the package without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning, module="sgbn")
        yield


def written(content: bytes, folder: Path, suffix: str) -> Path:
    path = folder / f"case{suffix}"
    path.write_bytes(content)
    return path


def zipped(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)
    return stream.getvalue()


# Seeds


@cache
def made(suffix: str) -> bytes:
    """File of the cohort, by the package's writer."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"seed{suffix}"
        sgbn.write_table(cohort(), path)
        return path.read_bytes()


@cache
def subjects() -> pd.DataFrame:
    return pd.DataFrame(cohort().values + np.eye(8, 4), columns=cohort().regions)


@cache
def made_model(kind: str) -> bytes:
    import tempfile

    coef = np.triu(np.full((3, 3), 0.5), 1)
    fitted = {
        "network": lambda: sgbn.GaussianNetwork(coef, [1, 2, 3], names=list("abc")),
        "classifier": lambda: sgbn.SGBNClassifier().fit(subjects(), cohort().group),
        "analysis": lambda: sgbn.make_analysis(k=2).fit(subjects(), cohort().group),
    }
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return sgbn.save(fitted[kind](), Path(folder) / "seed.sgbn").read_bytes()


def model_texts() -> list[bytes]:
    kinds = ("network", "classifier", "analysis")
    archives = [zipfile.ZipFile(io.BytesIO(made_model(kind))) for kind in kinds]
    return [b"%d" % k + one.read(MODEL) for k, one in enumerate(archives)]


def tool_files() -> list[bytes]:
    """A network in each format, after the byte that chooses it."""
    network = sgbn.GaussianNetwork([[0, 0.5], [0, 0]], names=["a b", "c"])
    fixed = {"lavaan": "fixed", "semopy": "start"}
    texts = {name: network_text(network, name, weights=fixed.get(name)) for name in FORMATS}
    first = {name: bytes([len(FORMATS) * 10 + k]) for k, name in enumerate(FORMATS)}
    return [first[name] + text.encode() for name, text in texts.items()]


def images() -> list[bytes]:
    import nibabel as nib

    plain = nib.Nifti1Image(np.arange(27, dtype=np.int16).reshape(3, 3, 3), np.diag([2, 2, 2, 1]))
    real = nib.Nifti1Image(np.ones((3, 3, 3), np.float32), np.diag([2, 2, 2, 1]))
    real.header.set_slope_inter(2, 1)
    return [plain.to_bytes(), real.to_bytes(), gzip.compress(plain.to_bytes(), mtime=0)]


def settings_files() -> list[bytes]:
    path = Path("folder/config.toml")
    small = {"tables": [Path("data/t.csv")], "group": "dx", "covariates": ["age"], "gamma": 0.5}
    large = {**small, "participants": Path("p.tsv"), "n_permutations": 99, "peers": True, "seed": 1}
    return [config_text(path, one).encode() for one in (small, {**large, "missing": []})]


def options_and(content: bytes) -> list[bytes]:
    """The content, read in each of the ways."""
    return [b"%d" % k + content for k in range(len(OPTIONS))]


SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "table": lambda: [
        *options_and(made(".csv")),
        *options_and(made(".csv").replace(b",", b";")),
        b"1" + gzip.compress(made(".csv"), mtime=0),
    ],
    "participants": lambda: [b"2" + made(".tsv"), b"0" + made(".tsv")],
    "freesurfer": lambda: [b"0" + FREESURFER.encode(), b"1" + FREESURFER.encode()],
    "excel": lambda: options_and(made(".xlsx"))[:3],
    "sheet": lambda: options_and(zipfile.ZipFile(io.BytesIO(made(".xlsx"))).read(SHEET))[:3],
    "parquet": lambda: options_and(made(".parquet"))[:3],
    "bif": lambda: [BIF.encode()],
    "other_tool": tool_files,
    "atlas": lambda: [ATLAS.encode(), ATLAS.replace(",", "\t").encode()],
    "label_names": lambda: [text.encode() for text in LABELS],
    "stats_file": lambda: [STATS.encode(), NUCLEI.encode()],
    "region_file": lambda: [REGION_FILE.encode()],
    "nifti": images,
    "label_image": images,
    "model": lambda: [made_model(kind) for kind in ("network", "analysis")],
    "model_json": model_texts,
    "npy": lambda: [to_npy(np.arange(6.0).reshape(2, 3)), to_npy(np.array([True, False]))],
    "config": settings_files,
}
