"""A manifest comes back as it was written, whatever the names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.errors import CspaceError
from cspace.instance.snapshot_manifest import (
    Carried,
    Entry,
    Kind,
    LeftOut,
    Manifest,
    Problem,
    Repository,
    dump_manifest,
    parse_manifest,
    show,
)

PARTS = st.binary(min_size=1, max_size=20).filter(
    lambda part: not {0, 47} & set(part) and part not in (b".", b"..")
)
PATHS = st.lists(PARTS, min_size=1, max_size=4).map(b"/".join)
FILES = st.builds(
    Entry, PATHS, st.just(Kind.FILE), st.integers(0, 0o7777), st.integers(),
    size=st.integers(0), blob=st.just("a" * 40),
)  # fmt: skip
LINKS = st.builds(
    Entry, PATHS, st.just(Kind.LINK), st.just(0o777), st.integers(), target=st.binary()
)


@given(st.lists(FILES | LINKS, max_size=5), PATHS)
def test_a_manifest_comes_back_equal(entries: list[Entry], path: bytes) -> None:
    manifest = Manifest(
        entries=tuple(entries),
        left_out=(LeftOut(path, 7, "a FIFO"),),
        problems=(Problem(path, "it is broken"),),
        repositories=(Repository(3, path, Carried.FILES),),
        refs=(("0/refs/heads/naïve", "b" * 40),),
        shared=("c" * 40,),
    )
    assert parse_manifest(dump_manifest(manifest)) == manifest


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b", "a//b", "./a"])
def test_a_path_outside_of_the_workspace_is_refused(path: str) -> None:
    entry = Entry(path.encode(), Kind.DIRECTORY, 0o755, 0)
    with pytest.raises(CspaceError, match="leaves the workspace"):
        parse_manifest(dump_manifest(Manifest((entry,), (), (), (), (), ())))


def test_a_manifest_of_an_unknown_format_is_refused() -> None:
    document = json.loads(dump_manifest(Manifest((), (), (), (), (), ())))
    with pytest.raises(CspaceError, match="the archive's format is 99"):
        parse_manifest(json.dumps(document | {"format": 99}).encode())


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"[" * 100_000, b'{"format": 1, "entries": [3]}', b"\xff"]
)
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(CspaceError, match="manifest can not be read"):
        parse_manifest(data)


def test_a_shown_name_holds_no_control_character() -> None:
    assert show(b"a\x1b[31m\n\xff\xc2\x9b") == "a\\x1b[31m\\n\\xff\\x9b"
