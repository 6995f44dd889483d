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

PathName = str | PathLike[str]

FORMAT = "sgbn model"
SCHEMA = 1  # what is written
READABLE = (1,)  # what can be read; an old one stays here
MANIFEST = "manifest.json"
MODEL = "model.json"
LARGEST_FILE = 2**28  # bytes
LARGEST_JSON = 2**24  # bytes; read, it takes up to twenty times as much memory
MOST_MEMBERS = 4096
MOST_BYTES_PER_NAME = 128  # of the zip's directory
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip knows
READ_BY_ALL = 0o100644 << 16
AGAIN = "Fetch the file again, or save the model anew."
# What the zip library raises of damaged bytes, NotImplementedError among RuntimeErrors.
DAMAGES = (BadZipFile, ValueError, OSError, EOFError, RuntimeError, LookupError, struct.error)

_NAMES = r"manifest\.json|model\.json|arrays/\d{4,6}\.npy"
_END = struct.Struct("<4s4H2LH")  # what a zip ends with
_END_MARK, _ZIP64_MARK = b"PK\x05\x06", b"PK\x06\x07"
_ZIP64_LOCATOR = 20  # bytes, before the end


def write_members(path: PathName, about: Mapping[str, Any], members: Mapping[str, bytes]) -> Path:
    """Write the members and a manifest with their checksums."""
    sums = {name: sha256(content).hexdigest() for name, content in members.items()}
    manifest = {"format": FORMAT, "schema": SCHEMA, **about, "files": sums}
    members = {**members, MANIFEST: to_json(manifest)}
    total = sum(map(len, members.values())) + 2 * MOST_BYTES_PER_NAME * len(members)
    largest = max(len(content) for name, content in members.items() if name.endswith(".json"))
    if total > LARGEST_FILE or largest > LARGEST_JSON or len(members) > MOST_MEMBERS:
        raise InputError(
            f"the model is too large for a file: {total >> 20} MB in {len(members)} parts, and "
            f"{LARGEST_FILE >> 20} MB in {MOST_MEMBERS} parts are most. Take fewer regions, or "
            "an imputer that does not keep all rows."
        )
    return write_file(path, lambda stream: _write(stream, members))


def _write(stream: Any, members: Mapping[str, bytes]) -> None:
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        for name in sorted(members):
            info = ZipInfo(name, TIME)
            info.create_system, info.external_attr = 3, READ_BY_ALL  # the same on all systems
            archive.writestr(info, members[name])


def to_json(content: Any) -> bytes:
    """JSON that is the same for the same content."""
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


class Members:
    """Members of a model file, each checked before it is given out.

    Attributes
    ----------
    manifest : dict
    """

    def __init__(self, path: PathName) -> None:
        content = read_bytes(path)
        _check_end(content)
        try:
            self._archive = ZipFile(io.BytesIO(content))
        except DAMAGES as error:
            raise InputError(f"it is damaged ({error!s:.80}). {AGAIN}") from error
        self._infos = self._checked(len(content))
        self.manifest = self._read_manifest()

    def _checked(self, n_bytes: int) -> dict[str, ZipInfo]:
        """Check the directory before anything is read."""
        infos = self._archive.infolist()
        names = [info.filename for info in infos]
        for name in names:
            if fullmatch(_NAMES, name) is None:
                raise InputError(f"it holds {name!r:.80}, which is no part of a model. {AGAIN}")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"it holds {twice!r} twice. {AGAIN}")
        for info in infos:
            plain = info.compress_type == ZIP_STORED and info.file_size == info.compress_size
            if not plain or info.flag_bits & 1:
                raise InputError(
                    f"its part {info.filename!r} is compressed or encrypted, and sgbn does "
                    f"neither. {AGAIN}"
                )
        if sum(info.file_size for info in infos) > n_bytes:
            raise InputError(f"its parts are larger than the file (a zip bomb). {AGAIN}")
        for name in (MANIFEST, MODEL):
            if name not in names:
                raise InputError(f"it has no {name}, so it is no model of sgbn. {AGAIN}")
        return {info.filename: info for info in infos}

    def _read_manifest(self) -> dict[str, Any]:
        found = parse_json(self._bytes(MANIFEST), MANIFEST)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(f"its manifest is not that of a model of sgbn. {AGAIN}")
        schema = found.get("schema")
        if type(schema) is not int or schema not in READABLE:
            newer = type(schema) is int and schema > SCHEMA
            remedy = "Install a newer version of sgbn." if newer else AGAIN
            raise InputError(
                f"it is of schema {schema!r:.20} (sgbn {_version(found)!r:.20}), and this version "
                f"reads {listed(READABLE)}. {remedy}"
            )
        sums = found.get("files")
        if not isinstance(sums, dict) or {*sums, MANIFEST} != set(self._infos):
            raise InputError(f"its manifest does not list the parts that it has. {AGAIN}")
        return found

    def read(self, name: str) -> bytes:
        """Content of a member, after its checksum."""
        if name not in self._infos or name == MANIFEST:
            raise InputError(f"it has no part {name!r:.80}. {AGAIN}")
        content = self._bytes(name)
        if sha256(content).hexdigest() != self.manifest["files"][name]:
            raise InputError(f"its part {name!r} has another checksum: it was changed. {AGAIN}")
        return content

    def model(self) -> Any:
        """JSON of the model."""
        return parse_json(self.read(MODEL), MODEL)

    @property
    def arrays(self) -> set[str]:
        """Names of the arrays."""
        return set(self._infos) - {MANIFEST, MODEL}

    def _bytes(self, name: str) -> bytes:
        try:
            return self._archive.read(self._infos[name])
        except DAMAGES as error:
            raise InputError(f"its part {name!r} is damaged ({error!s:.80}). {AGAIN}") from error


def read_bytes(path: PathName) -> bytes:
    """Content of a file that is not too large."""
    try:
        target = Path(path)
        if target.is_dir():
            raise InputError("it is a folder. Give the file in it.")
        if not target.exists():
            raise InputError("there is no such file. Check the path.")
        if target.stat().st_size <= LARGEST_FILE:
            with target.open("rb") as stream:
                content = stream.read(LARGEST_FILE + 1)  # a pipe has no size
                if len(content) <= LARGEST_FILE:
                    return content
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror or error}.") from error
    raise InputError(f"it is larger than {LARGEST_FILE >> 20} MB, so it is no model of sgbn.")


def _version(manifest: Mapping[str, Any]) -> object:
    versions = manifest.get("versions")
    return versions.get("sgbn") if isinstance(versions, dict) else None


def _check_end(content: bytes) -> None:
    """Look at the end of the zip, which says how long its directory is, before it is read."""
    last = content[-_END.size :]
    if not content.startswith(b"PK") or len(last) < _END.size or not last.startswith(_END_MARK):
        raise InputError(f"it is no model of sgbn, or only the beginning of one. {AGAIN}")
    _, _, _, count, _, directory, _, _ = _END.unpack(last)
    longer = content[-_END.size - _ZIP64_LOCATOR :].startswith(_ZIP64_MARK)
    if longer or count > MOST_MEMBERS or directory > MOST_MEMBERS * MOST_BYTES_PER_NAME:
        raise InputError(f"it has more than {MOST_MEMBERS} parts, so it is no model. {AGAIN}")


def parse_json(content: bytes, name: str) -> Any:
    """JSON, in which no key is twice and every number is one."""
    if len(content) > LARGEST_JSON:
        raise InputError(f"its part {name!r} is larger than {LARGEST_JSON >> 20} MB. {AGAIN}")
    try:
        return json.loads(content, object_pairs_hook=_unique, parse_constant=_no_number)
    except InputError as error:
        raise InputError(f"its part {name!r} {error} {AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"its part {name!r} is no JSON ({error!s:.80}). {AGAIN}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("has a key twice.")
    return found


def _no_number(text: str) -> Any:
    raise InputError(f"holds {text}.")
