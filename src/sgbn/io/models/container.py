"""Write and read the zip file around a model, with its manifest.

Members are sorted by name and have no time, so that the same model always gives the same bytes.
They are not compressed, so that no member can be larger than the file. The number of members is
checked before any member is read.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from re import fullmatch
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from sgbn.exceptions import InputError, listed
from sgbn.io.exports.files import PathName, write_file
from sgbn.io.models.checks import require

FORMAT = "sgbn model"
SCHEMA = 1  # version of the file format that is written
READABLE = (1,)  # versions that can be read; an old version stays in this list
MANIFEST = "manifest.json"
MODEL = "model.json"
MAX_FILE_BYTES = 2**28
MAX_JSON_BYTES = 2**24  # JSON needs up to twenty times as much memory once it is parsed
MAX_MEMBERS = 4096
MAX_BYTES_PER_NAME = 128  # of one entry in the zip's directory
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can store
READ_BY_ALL = 0o100644 << 16  # a file of Unix that all users may read
AGAIN = "Download or copy the file again, or save the model again."
# What the zip library raises for damaged bytes. NotImplementedError is a RuntimeError.
DAMAGES = (BadZipFile, ValueError, OSError, EOFError, RuntimeError, LookupError, struct.error)

_NAMES = r"manifest\.json|model\.json|arrays/\d{4,6}\.npy"
_END = struct.Struct("<4s4H2LH")  # the last record of a zip
_END_MARK, _ZIP64_MARK = b"PK\x05\x06", b"PK\x06\x07"
_ZIP64_LOCATOR_BYTES = 20  # it lies just before the last record


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
            f"the model is too large for a file: it has {total >> 20} MB in {len(members)} parts. "
            f"A file has at most {MAX_FILE_BYTES >> 20} MB in {MAX_MEMBERS} parts. Use fewer "
            "regions, or an imputer that does not keep all rows."
        )
    return write_file(path, lambda stream: _write(stream, members))


def _write(stream: Any, members: Mapping[str, bytes]) -> None:
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        # Sorted, so that the same model gives the same bytes.
        for name in sorted(members):
            info = ZipInfo(name, FIRST_TIME)
            info.create_system, info.external_attr = 3, READ_BY_ALL  # the same on all systems
            archive.writestr(info, members[name])


def to_json(content: Any) -> bytes:
    """Return the content as JSON, with sorted keys: the same content gives the same bytes."""
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


def read_members(path: PathName) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest of a model file and its other members; their checksums are checked."""
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
        require(name in members, f"it has no part {name!r}, so it is not a model of sgbn. {AGAIN}")
    manifest = parse_json(members.pop(MANIFEST), MANIFEST)
    _check_manifest(manifest, members)
    return manifest, members


def read_bytes(path: PathName) -> bytes:
    """Return the content of a file; raise InputError if it is larger than any model."""
    target = Path(path)
    try:
        require(not target.is_dir(), "it is a folder. Give the path of the file in it.")
        require(target.exists(), "there is no such file. Check the path.")
        with target.open("rb") as stream:
            # The size is counted while reading, since a pipe does not have one before.
            content = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"it cannot be read: {reason}. Check its permissions.") from error
    too_large = (
        f"it is larger than {MAX_FILE_BYTES >> 20} MB, so it is not a model of sgbn. {AGAIN}"
    )
    require(len(content) <= MAX_FILE_BYTES, too_large)
    return content


def _check_end(content: bytes) -> None:
    """Raise InputError if the last record of the zip is missing or announces too many members."""
    last = content[-_END.size :]
    if not content.startswith(b"PK") or len(last) < _END.size or not last.startswith(_END_MARK):
        raise InputError(f"it is not a model of sgbn, or its end is missing. {AGAIN}")
    _, _, _, count, _, n_directory_bytes, _, _ = _END.unpack(last)
    # A zip64 record has its own counts, and the zip library would believe those instead.
    is_zip64 = content[-_END.size - _ZIP64_LOCATOR_BYTES :].startswith(_ZIP64_MARK)
    if is_zip64 or count > MAX_MEMBERS or n_directory_bytes > MAX_MEMBERS * MAX_BYTES_PER_NAME:
        raise InputError(f"it has more than {MAX_MEMBERS} parts, so it is not a model. {AGAIN}")


def _check_directory(infos: list[ZipInfo], n_bytes: int) -> None:
    """Raise InputError if a name or size in the directory is not that of a model's member."""
    names: set[str] = set()
    for info in infos:
        name = info.filename
        known = fullmatch(_NAMES, name) is not None
        require(known, f"it holds {name!r:.80}, which is not part of a model. {AGAIN}")
        require(name not in names, f"it holds {name!r} twice. {AGAIN}")
        names.add(name)
        is_plain = info.compress_type == ZIP_STORED and info.file_size == info.compress_size
        wrong = f"its part {name!r} is compressed or encrypted, so it is not a model. {AGAIN}"
        require(is_plain and not info.flag_bits & 1, wrong)
    # Otherwise members that overlap could turn a small file into gigabytes.
    total = sum(info.file_size for info in infos)
    require(total <= n_bytes, f"its parts are larger than the file (a zip bomb). {AGAIN}")


def _check_manifest(manifest: Any, members: Mapping[str, bytes]) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"its manifest does not belong to a model of sgbn. {AGAIN}")
    schema, versions = manifest.get("schema"), manifest.get("versions")
    if type(schema) is not int or schema not in READABLE:
        is_newer = type(schema) is int and schema > SCHEMA
        version = versions.get("sgbn") if isinstance(versions, dict) else None
        raise InputError(
            f"it is of schema {schema!r:.20} (sgbn {version!r:.20}), but this version of sgbn "
            f"reads only schema {listed(READABLE)}. "
            f"{'Install a newer version of sgbn.' if is_newer else AGAIN}"
        )
    sums = manifest.get("files")
    if not isinstance(sums, dict) or set(sums) != set(members):
        raise InputError(f"its manifest lists other parts than the file has. {AGAIN}")
    # This finds damage, not forgery: whoever changes a part can also change its checksum.
    for name, content in members.items():
        same = sha256(content).hexdigest() == sums[name]
        require(same, f"its part {name!r} was changed: it has another checksum. {AGAIN}")


def parse_json(content: bytes, name: str) -> Any:
    """Return the content of a JSON member; raise InputError if a key is there twice."""
    if len(content) > MAX_JSON_BYTES:
        raise InputError(f"its part {name!r} is larger than {MAX_JSON_BYTES >> 20} MB. {AGAIN}")
    try:
        return json.loads(content, object_pairs_hook=_unique)
    except InputError as error:
        raise InputError(f"its part {name!r} {error} {AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"its part {name!r} is not JSON ({error!s:.80}). {AGAIN}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Otherwise the later value would silently replace the earlier one.
    require(len(dict(pairs)) == len(pairs), "has a key twice.")
    return dict(pairs)
