"""Write and read the zip file around a model, with its manifest.

Members are sorted by name and all have the same date, so that the same model always gives the same
bytes. They are not compressed, so that no member can be larger than the file. The number of members
is checked before the directory of the zip is read.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from sgbn.core.exceptions import InputError, listed
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
ENTRY_MARK = b"PK\x01\x02"  # the first bytes of each entry in the zip's directory
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can store
READ_BY_ALL = 0o100644 << 16  # permissions in Unix: all users may read the file
AGAIN = "Download or copy the file again, or save the model again."
# Errors that the zip library raises for damaged bytes. NotImplementedError is a RuntimeError.
DAMAGES = (BadZipFile, ValueError, OSError, EOFError, RuntimeError, LookupError, struct.error)


def write_members(path: PathName, about: Mapping[str, Any], members: Mapping[str, bytes]) -> Path:
    """Write a model file with these members, and with a manifest that has their checksums."""
    sums = {name: sha256(content).hexdigest() for name, content in members.items()}
    manifest = {"format": FORMAT, "schema": SCHEMA, **about, "files": sums}
    members = {**members, MANIFEST: to_json(manifest)}
    content = _zipped(members)
    total, n_members = len(content), content.count(ENTRY_MARK)  # as `read_members` counts them
    largest = max(len(members[MODEL]), len(members[MANIFEST]))
    if total > MAX_FILE_BYTES or largest > MAX_JSON_BYTES or n_members > MAX_MEMBERS:
        raise InputError(
            f"the model is too large for a file. It has {total >> 20} MB in {n_members} parts, and "
            f"a JSON part of {largest >> 20} MB. A file may have at most "
            f"{MAX_FILE_BYTES >> 20} MB in {MAX_MEMBERS} parts, and a JSON part at most "
            f"{MAX_JSON_BYTES >> 20} MB. Use fewer regions, or an imputer that does not keep all "
            "rows."
        )
    return write_file(path, lambda stream: stream.write(content))


def _zipped(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        # Sorted, so that the same model gives the same bytes.
        for name in sorted(members):
            info = ZipInfo(name, FIRST_TIME)
            info.create_system, info.external_attr = 3, READ_BY_ALL  # the same on all systems
            archive.writestr(info, members[name])
    return stream.getvalue()


def to_json(content: Any) -> bytes:
    """Return the content as JSON. Keys are sorted, so the same content gives the same bytes."""
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


def read_members(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest of a model file and its other members, after all checks."""
    is_small = len(content) <= MAX_FILE_BYTES
    require(is_small, f"it is larger than {MAX_FILE_BYTES >> 20} MB. Give a model of sgbn.")
    # Entries are counted first, because the zip library needs about a kilobyte for each of them.
    count = content.count(ENTRY_MARK)
    require(count <= MAX_MEMBERS, f"it has more than {MAX_MEMBERS} parts. {AGAIN}")
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            _check_directory(archive.infolist(), len(content))
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except DAMAGES as error:
        wrong = f"it is not a model of sgbn, or it is damaged or incomplete ({error!s:.120})."
        raise InputError(f"{wrong} {AGAIN}") from error
    for name in (MANIFEST, MODEL):
        require(name in members, f"it has no part {name!r}, so it is not a model of sgbn. {AGAIN}")
    manifest = parse_json(members.pop(MANIFEST), MANIFEST)
    _check_manifest(manifest, members)
    return manifest, members


def _check_directory(infos: list[ZipInfo], n_bytes: int) -> None:
    """Raise BadZipFile unless all members differ, are not compressed and fit in `n_bytes` bytes."""
    if len({info.filename for info in infos}) < len(infos):
        raise BadZipFile("a part is there twice")
    if any(info.compress_type != ZIP_STORED for info in infos):
        raise BadZipFile("a part is compressed")
    # Without this check, members that overlap could turn a small file into gigabytes.
    if sum(info.file_size for info in infos) > n_bytes:
        raise BadZipFile("the parts are larger than the file")


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
    # This finds damage, but not forgery, because a forger can change the checksum too.
    for name, content in members.items():
        same = sha256(content).hexdigest() == sums[name]
        require(same, f"its part {name!r} was changed: it has another checksum. {AGAIN}")


def parse_json(content: bytes, name: str) -> Any:
    """Return the content of a JSON member; raise InputError if a key is there twice."""
    if len(content) > MAX_JSON_BYTES:
        raise InputError(f"its part {name!r} is larger than {MAX_JSON_BYTES >> 20} MB. {AGAIN}")
    try:
        return json.loads(content, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InputError(f"its part {name!r} is not JSON ({error!s:.80}). {AGAIN}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Without this check, the later value would silently replace the earlier value.
    require(len(dict(pairs)) == len(pairs), "it has the same key twice")
    return dict(pairs)
