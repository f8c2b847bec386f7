"""A container's answer is taken for what it is: text that somebody else wrote."""

from __future__ import annotations

import json

import pytest

from cspace.errors import CspaceError
from cspace.instance.snapshot_manifest import LeftOut
from cspace.instance.work_answer import Work, dump_work, parse_work

ONE = "a" * 40
WORK = Work("b", ONE, ONE, notes={"refs/notes/cs": ONE}, left_out=(LeftOut(b"\xff\n", 1, "r"),))
WRONG = {
    "surrogate in a ref": {"notes": {"refs/notes/\ud800": ONE}},
    "surrogate in a branch": {"branch": "\ud800"},
    "ref elsewhere": {"notes": {"refs/notes/../heads/main": ONE}},
    "ref of a branch": {"notes": {"refs/heads/main": ONE}},
    "line break behind an id": {"head": f"{ONE}\n"},
    "digits of another script": {"head": "\u0663" * 40},
    "endless number": {"left_out": [["a", "9" * 6000, "r"]]},
    "no number": {"left_out": [["a", float("inf"), "r"]]},
    "too many refs": {"notes": {f"refs/notes/{number}": ONE for number in range(101)}},
    "list for an object": {"notes": []},
}


def test_an_answer_is_read_as_it_was_written() -> None:
    assert parse_work(dump_work(WORK)) == WORK


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_is_refused(what: str) -> None:
    document = json.loads(dump_work(WORK)) | WRONG[what]
    with pytest.raises(CspaceError, match="the container's answer"):
        parse_work(json.dumps(document).encode())


@pytest.mark.parametrize("raw", [b"[" * 100_000, b"\xff", b"", b"1", b"null", b"{}"])
def test_what_is_no_document_is_refused(raw: bytes) -> None:
    with pytest.raises(CspaceError, match="damaged"):
        parse_work(raw)
