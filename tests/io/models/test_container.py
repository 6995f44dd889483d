import io
import json
import struct
import zipfile

import pytest

from sgbn.core.exceptions import InputError
from sgbn.write import model_files
from sgbn.write.model_files import parse_json, read_members, to_json, write_members

PARTS = {"model.json": b'{"a":1}', "arrays/0000.npy": b"numbers"}


@pytest.fixture
def path(tmp_path):
    return write_members(tmp_path / "model.sgbn", {"class": "SGBN"}, PARTS)


def rewrite(path, change=lambda parts: None, **options):
    """Write the members of a file again, after a change, as a plain zip."""
    with zipfile.ZipFile(path) as archive:
        parts = [(name, archive.read(name)) for name in archive.namelist()]
    parts = change(parts) or parts
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in parts:
            archive.writestr(name, content)


def test_members_come_back_with_a_manifest(path):
    manifest, members = read_members(path.read_bytes())
    assert members == PARTS
    assert manifest["schema"] == 1
    assert manifest["class"] == "SGBN"


def test_the_same_members_give_the_same_bytes(path, tmp_path):
    again = write_members(tmp_path / "b", {"class": "SGBN"}, dict(reversed(PARTS.items())))
    assert again.read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize(
    "name", ["../evil.py", "/etc/passwd", "C:\\evil", "arrays/../../x.npy", "evil.pkl", "arrays/"]
)
def test_a_member_of_another_name_is_refused(path, name):
    rewrite(path, lambda parts: [*parts, (name, b"")])
    with pytest.raises(InputError, match="lists other parts than the file has"):
        read_members(path.read_bytes())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(path):
    rewrite(path, lambda parts: [*parts, parts[0]])
    with pytest.raises(InputError, match="twice"):
        read_members(path.read_bytes())


def test_compressed_members_are_refused_whatever_they_unpack_to(path):
    bomb = ("arrays/0001.npy", bytes(10**6))
    rewrite(path, lambda parts: [*parts, bomb], compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="is compressed"):
        read_members(path.read_bytes())


def test_members_that_overlap_are_refused(path):
    content = bytearray(path.read_bytes())
    places = [k for k in range(len(content)) if content[k : k + 4] == b"PK\x01\x02"]
    for k in places:  # each says that it is as long as the whole file
        struct.pack_into("<LL", content, k + 20, len(content), len(content))
    path.write_bytes(content)
    with pytest.raises(InputError, match="larger than the file"):
        read_members(path.read_bytes())


def test_too_many_members_are_refused_before_they_are_listed(path, monkeypatch):
    monkeypatch.setattr(model_files, "ZipFile", None)  # not to be reached
    monkeypatch.setattr(model_files, "MAX_MEMBERS", 2)
    with pytest.raises(InputError, match="more than 2 parts"):
        read_members(path.read_bytes())


def test_a_long_directory_behind_a_small_count_is_refused(path):
    content = bytearray(path.read_bytes())
    struct.pack_into("<L", content, len(content) - 22 + 12, 2**31)
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged or incomplete"):
        read_members(path.read_bytes())


def test_a_zip64_locator_which_would_replace_the_count_is_refused(path):
    content = path.read_bytes()
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    path.write_bytes(content[:-22] + locator + content[-22:])
    with pytest.raises(InputError, match="damaged or incomplete"):
        read_members(path.read_bytes())


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all" * 10, b"PK\x05\x06" + bytes(18)])
def test_what_is_no_zip_is_refused(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a model"):
        read_members(path.read_bytes())


def test_a_truncated_file_is_refused_wherever_it_ends(path):
    content = path.read_bytes()
    for end in range(0, len(content), 29):
        path.write_bytes(content[:end])
        with pytest.raises(InputError, match="damaged or incomplete"):
            read_members(path.read_bytes())


def test_a_file_that_is_too_large_is_not_read(path, monkeypatch):
    monkeypatch.setattr(model_files, "MAX_FILE_BYTES", 100)
    with pytest.raises(InputError, match="it is larger than"):
        read_members(path.read_bytes())


def test_what_would_be_too_large_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(model_files, "MAX_FILE_BYTES", 100)
    with pytest.raises(InputError, match="too large for a file"):
        write_members(tmp_path / "x", {}, PARTS)
    assert not list(tmp_path.iterdir())


def test_a_changed_member_has_another_checksum(path):
    rewrite(path, lambda parts: [(n, b"other" if "npy" in n else c) for n, c in parts])
    with pytest.raises(InputError, match="another checksum"):
        read_members(path.read_bytes())


def test_the_manifest_lists_what_there_is(path):
    rewrite(path, lambda parts: [*parts, ("arrays/0001.npy", b"")])
    with pytest.raises(InputError, match="lists other parts"):
        read_members(path.read_bytes())


@pytest.mark.parametrize("name", ["manifest.json", "model.json"])
def test_a_part_that_all_have_is_needed(path, name):
    rewrite(path, lambda parts: [pair for pair in parts if pair[0] != name])
    with pytest.raises(InputError, match=f"has no part '{name}'"):
        read_members(path.read_bytes())


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (2, "Install a newer version of sgbn"),
        (0, "Download"),
        ("1", "Download"),
        (True, "Download"),
    ],
)
def test_other_schemas_say_what_to_do(path, schema, said):
    def change(parts):
        about = json.loads(dict(parts)["manifest.json"]) | {"schema": schema}
        return [(n, to_json(about) if n == "manifest.json" else c) for n, c in parts]

    rewrite(path, change)
    with pytest.raises(InputError, match=f"of schema .*{said}"):
        read_members(path.read_bytes())


@pytest.mark.parametrize("text", [b"[]", b"{}", b'{"format": "zip"}'])
def test_another_manifest_is_refused(path, text):
    rewrite(path, lambda parts: [(n, text if n == "manifest.json" else c) for n, c in parts])
    with pytest.raises(InputError, match="does not belong to a model"):
        read_members(path.read_bytes())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 10**6, "not JSON"),
        (b'{"a":' * 10**5, "not JSON"),
        (b'{"a":1,"a":2}', "key twice"),
        (b"1" * 5000, "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_json_that_is_deep_or_odd_is_refused(content, said):
    with pytest.raises(InputError, match=said):
        parse_json(content, "model.json")


def test_json_that_is_too_large_is_not_parsed(monkeypatch):
    monkeypatch.setattr(model_files, "MAX_JSON_BYTES", 10)
    with pytest.raises(InputError, match="larger than"):
        parse_json(b"[1,2,3,4,5,6,7]", "model.json")


def test_encrypted_members_are_refused(path):
    content = bytearray(path.read_bytes())
    for k in range(len(content)):
        if content[k : k + 4] == b"PK\x01\x02":
            content[k + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="is encrypted"):
        read_members(path.read_bytes())


def test_other_programs_can_look_into_it(path):
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        assert archive.testzip() is None
