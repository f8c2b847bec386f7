from __future__ import annotations

import json
from pathlib import Path

import pytest

from cspace.errors import CspaceError
from cspace.files import Owner
from cspace.instance.record import NewerRecord, load_record, save_record
from tests.instance.test_plan import RECORD

OWNER = Owner(1000, 1000)


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    save_record(tmp_path / "instance.json", RECORD, OWNER)
    assert load_record(tmp_path / "instance.json") == RECORD


def test_a_record_of_a_newer_version_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    save_record(path, RECORD, OWNER)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 99}), encoding="utf-8")
    with pytest.raises(NewerRecord, match="schema 99") as caught:
        load_record(path)
    assert str(path) in str(caught.value)
    assert "--discard" in (caught.value.hint or "")


@pytest.mark.parametrize("schema", [0, "2", None, [2]])
def test_a_record_of_no_known_version_is_damaged_and_not_newer(
    tmp_path: Path, schema: object
) -> None:
    path = tmp_path / "instance.json"
    save_record(path, RECORD, OWNER)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": schema}), encoding="utf-8")
    with pytest.raises(CspaceError, match="is damaged") as caught:
        load_record(path)
    assert not isinstance(caught.value, NewerRecord)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 1}', '{"schema": 1, "extra": 2}'])
def test_a_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "instance.json").write_text(text, encoding="utf-8")
    with pytest.raises(CspaceError, match=r"instance\.json"):
        load_record(tmp_path / "instance.json")


@pytest.mark.parametrize("change", [{"restoring": 5}, {"base": None}, {"known": [1]}])
def test_a_record_of_other_types_is_damaged(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "instance.json"
    save_record(path, RECORD, OWNER)
    path.write_text(json.dumps(json.loads(path.read_text()) | change), encoding="utf-8")
    with pytest.raises(CspaceError, match=next(iter(change))):
        load_record(path)


def test_a_link_in_place_of_a_record_is_not_followed(tmp_path: Path) -> None:
    save_record(tmp_path / "elsewhere.json", RECORD, OWNER)
    assert load_record(tmp_path / "elsewhere.json") == RECORD
    (tmp_path / "instance.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(OSError, match="symbolic link"):
        load_record(tmp_path / "instance.json")
