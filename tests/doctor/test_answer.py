"""What a container says of itself may be anything: it is read in a known shape, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.doctor.answer import MAX_TEXT, Place, parse_answer
from cspace.errors import CommandFailed


def whole(**parts: object) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "uid": 1000,
        "mounts": {"/workspace": {"uid": 1000, "writable": True, "mounted": True}, "/x": None},
        "git": {"name": "A", "email": "a@example.com"},
        "git_helper": True,
        "key_helper": False,
        "server": {"command": "cspace context-server", "problem": None},
    }
    return answer | parts


def test_an_answer_is_read() -> None:
    answer = parse_answer(json.dumps(whole()).encode())
    assert answer.places == {"/workspace": Place(1000, writable=True, mounted=True), "/x": None}
    assert (answer.name, answer.git_helper, answer.key_helper) == ("A", True, False)


def test_long_texts_are_cut() -> None:
    answer = parse_answer(json.dumps(whole(git={"name": "n" * 10**5, "email": ""})).encode())
    assert len(answer.name) == MAX_TEXT


@pytest.mark.parametrize(
    "said",
    [b"", b"\xff", b"[" * 200_000, b"{}", b"3", b'{"uid": 1}', b"9" * 10_000, b"null\nnull"],
)
def test_anything_else_is_refused(said: bytes) -> None:
    with pytest.raises(CommandFailed, match="does not answer as an instance of ours"):
        parse_answer(said)


ODD = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)


@given(key=st.sampled_from(sorted(whole())), value=ODD | st.dictionaries(st.text(max_size=3), ODD))
def test_no_value_of_any_part_breaks_the_reader(key: str, value: object) -> None:
    said = json.dumps(whole(**{key: value})).encode()
    try:
        answer = parse_answer(said)
    except CommandFailed:
        return
    assert isinstance(answer.uid, int)
    assert all(len(text) <= MAX_TEXT for text in (answer.name, answer.email, answer.server))
