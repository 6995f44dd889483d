"""The zip file around a model, and its manifest.

Members are stored, not compressed, in the order of their names and without a time, so that a model
always gives the same bytes, and no member can be larger than the file that it came in. The number
of members is looked up before any is read.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path
from re import fullmatch
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from sgbn.exceptions import InputError, listed
from sgbn.io.exports.files import write_file
from sgbn.io.models.checks import require

PathName = str | PathLike[str]

FORMAT = "sgbn model"
SCHEMA = 1  # what is written
READABLE = (1,)  # what can be read; an old schema stays in this list
MANIFEST = "manifest.json"
MODEL = "model.json"
MAX_FILE_BYTES = 2**28
MAX_JSON_BYTES = 2**24  # parsed, it takes up to twenty times as much memory
MAX_MEMBERS = 4096
MAX_BYTES_PER_NAME = 128  # in the zip's directory
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip knows
READ_BY_ALL = 0o100644 << 16
AGAIN = "Fetch the file again, or save the model anew."
# What the zip library raises for damaged bytes; NotImplementedError is a RuntimeError.
DAMAGES = (BadZipFile, ValueError, OSError, EOFError, RuntimeError, LookupError, struct.error)

_NAMES = r"manifest\.json|model\.json|arrays/\d{4,6}\.npy"
_END = struct.Struct("<4s4H2LH")  # the record that a zip ends with
_END_MARK, _ZIP64_MARK = b"PK\x05\x06", b"PK\x06\x07"
_ZIP64_LOCATOR_BYTES = 20  # just before the end


def write_members(path: PathName, about: Mapping[str, Any], members: Mapping[str, bytes]) -> Path:
    """Write the members and a manifest with their checksums."""
    sums = {name: sha256(content).hexdigest() for name, content in members.items()}
    manifest = {"format": FORMAT, "schema": SCHEMA, **about, "files": sums}
    members = {**members, MANIFEST: to_json(manifest)}
    # Each name is in the zip twice: before its content, and in the directory at the end.
    total = sum(map(len, members.values())) + 2 * MAX_BYTES_PER_NAME * len(members)
    largest = max(len(content) for name, content in members.items() if name.endswith(".json"))
    if total > MAX_FILE_BYTES or largest > MAX_JSON_BYTES or len(members) > MAX_MEMBERS:
        raise InputError(
            f"the model is too large for a file: {total >> 20} MB in {len(members)} parts, but "
            f"at most {MAX_FILE_BYTES >> 20} MB in {MAX_MEMBERS} parts are possible. Take fewer "
            "regions, or an imputer that does not keep all rows."
        )
    return write_file(path, lambda stream: _write(stream, members))


def _write(stream: Any, members: Mapping[str, bytes]) -> None:
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        # Sorted: zip members have an order, and the same model is to give the same bytes.
        for name in sorted(members):
            info = ZipInfo(name, FIRST_TIME)
            info.create_system, info.external_attr = 3, READ_BY_ALL  # the same on all systems
            archive.writestr(info, members[name])


def to_json(content: Any) -> bytes:
    """JSON that is the same for the same content."""
    # Sorted keys and no blanks: one text for one content.
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


def read_members(path: PathName) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest of a model file and its other members, each after its checksum."""
    content = read_bytes(path)
    _check_end(content)
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            _check_directory(archive.infolist(), len(content))
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except InputError:
        raise
    except DAMAGES as error:
        raise InputError(f"it is damaged ({error!s:.80}). {AGAIN}") from error
    for name in (MANIFEST, MODEL):
        require(name in members, f"it has no {name}, so it is not a model of sgbn. {AGAIN}")
    manifest = parse_json(members.pop(MANIFEST), MANIFEST)
    _check_manifest(manifest, members)
    return manifest, members


def read_bytes(path: PathName) -> bytes:
    """Content of a file that is not too large."""
    too_large = f"it is larger than {MAX_FILE_BYTES >> 20} MB, so it is not a model of sgbn."
    target = Path(path)
    try:
        require(not target.is_dir(), "it is a folder. Give the file in it.")
        require(target.exists(), "there is no such file. Check the path.")
        require(target.stat().st_size <= MAX_FILE_BYTES, too_large)
        with target.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)  # a pipe has no size
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror or error}.") from error
    require(len(content) <= MAX_FILE_BYTES, too_large)
    return content


def _check_end(content: bytes) -> None:
    """Look at the end of the zip, which says how long its directory is, before it is read."""
    last = content[-_END.size :]
    if not content.startswith(b"PK") or len(last) < _END.size or not last.startswith(_END_MARK):
        raise InputError(f"it is not a model of sgbn, or its end is missing. {AGAIN}")
    _, _, _, count, _, directory, _, _ = _END.unpack(last)
    # A zip64 record would have counts of its own, which the zip library believes instead.
    is_zip64 = content[-_END.size - _ZIP64_LOCATOR_BYTES :].startswith(_ZIP64_MARK)
    if is_zip64 or count > MAX_MEMBERS or directory > MAX_MEMBERS * MAX_BYTES_PER_NAME:
        raise InputError(f"it has more than {MAX_MEMBERS} parts, so it is not a model. {AGAIN}")


def _check_directory(infos: list[ZipInfo], n_bytes: int) -> None:
    """Check names and sizes of all members before any is read."""
    names: set[str] = set()
    for info in infos:
        name = info.filename
        known = fullmatch(_NAMES, name) is not None
        require(known, f"it holds {name!r:.80}, which is not part of a model. {AGAIN}")
        require(name not in names, f"it holds {name!r} twice. {AGAIN}")
        names.add(name)
        is_plain = info.compress_type == ZIP_STORED and info.file_size == info.compress_size
        wrong = f"its part {name!r} is compressed or encrypted, and sgbn does neither. {AGAIN}"
        require(is_plain and not info.flag_bits & 1, wrong)
    # Members that overlap would else make gigabytes of a small file.
    total = sum(info.file_size for info in infos)
    require(total <= n_bytes, f"its parts are larger than the file (a zip bomb). {AGAIN}")


def _check_manifest(manifest: Any, members: Mapping[str, bytes]) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"its manifest is not that of a model of sgbn. {AGAIN}")
    schema, versions = manifest.get("schema"), manifest.get("versions")
    if type(schema) is not int or schema not in READABLE:
        is_newer = type(schema) is int and schema > SCHEMA
        version = versions.get("sgbn") if isinstance(versions, dict) else None
        raise InputError(
            f"it is of schema {schema!r:.20} (sgbn {version!r:.20}), and this version reads "
            f"{listed(READABLE)}. {'Install a newer version of sgbn.' if is_newer else AGAIN}"
        )
    sums = manifest.get("files")
    if not isinstance(sums, dict) or set(sums) != set(members):
        raise InputError(f"its manifest does not list the parts that it has. {AGAIN}")
    # Against damage, not against forgery: whoever changes a part can change its sum.
    for name, content in members.items():
        same = sha256(content).hexdigest() == sums[name]
        require(same, f"its part {name!r} has another checksum: it was changed. {AGAIN}")


def parse_json(content: bytes, name: str) -> Any:
    """JSON in which no key is there twice, and no number is NaN or infinite."""
    if len(content) > MAX_JSON_BYTES:
        raise InputError(f"its part {name!r} is larger than {MAX_JSON_BYTES >> 20} MB. {AGAIN}")
    try:
        return json.loads(content, object_pairs_hook=_unique, parse_constant=_no_number)
    except InputError as error:
        raise InputError(f"its part {name!r} {error} {AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"its part {name!r} is not JSON ({error!s:.80}). {AGAIN}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require(len(dict(pairs)) == len(pairs), "has a key twice.")
    return dict(pairs)


def _no_number(text: str) -> Any:
    raise InputError(f"holds {text}.")
