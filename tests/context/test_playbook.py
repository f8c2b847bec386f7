"""Playbooks: what people wrote goes into an agent's first turn, and nothing interprets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cspace.context.playbook import (
    PLACEHOLDER,
    Playbook,
    load_preamble,
    load_template,
    render_playbook,
)
from cspace.context.skeleton import ensure_skeleton
from cspace.context.store import ContextStore
from cspace.errors import NotFound

HOSTILE = b"".join(
    (
        b"${STRATEGIC_CONTEXT_PREAMBLE} $STRATEGIC_CONTEXT_PREAMBLE ${HOME} $(id) `id` {{ 7*7 }}",
        b"{% raw %} %s %(x)s {0} \\1 \\g<0> \\n \\\\ & \x00 \xff\xfe \x1b[31m\r\n\n\n",
    )
)


@pytest.fixture
def store(tmp_path: Path) -> ContextStore:
    ensure_skeleton(tmp_path)
    return ContextStore(tmp_path)


def write(store: ContextStore, name: str, content: bytes) -> None:
    (store.root / ".cspace/context" / f"{name}.md").write_bytes(content)


def test_what_people_wrote_comes_through_byte_for_byte(store: ContextStore) -> None:
    write(store, "direction", HOSTILE)
    write(store, "roadmap", HOSTILE[::-1])
    rendered = render_playbook(b"a " + PLACEHOLDER + b" b", load_preamble(store))
    assert rendered == b"".join(
        (
            b"a <!-- .cspace/context/direction.md -->\n",
            HOSTILE,
            b"\n\n<!-- .cspace/context/roadmap.md -->\n",
            HOSTILE[::-1],
            b" b",
        )
    )


@given(some.lists(some.binary().filter(lambda one: PLACEHOLDER not in one)), some.binary())
def test_rendering_replaces_each_placeholder_once_and_nothing_else(
    parts: list[bytes], preamble: bytes
) -> None:
    template = PLACEHOLDER.join(parts)
    if template.count(PLACEHOLDER) == max(0, len(parts) - 1):
        assert render_playbook(template, preamble) == preamble.join(parts)


@pytest.mark.parametrize(
    "near",
    [b"$STRATEGIC_CONTEXT_PREAMBLE", b"${ STRATEGIC_CONTEXT_PREAMBLE }", PLACEHOLDER.lower()],
)
def test_only_the_exact_placeholder_is_replaced(near: bytes) -> None:
    assert render_playbook(near, b"x") == near
    assert render_playbook(b"$" + PLACEHOLDER + b"}", b"x") == b"$x}"


@pytest.mark.parametrize("playbook", Playbook)
def test_each_playbook_of_ours_holds_the_placeholder_once(playbook: Playbook) -> None:
    assert load_template(playbook).count(PLACEHOLDER) == 1


def test_an_implementers_playbook_ends_with_what_to_record() -> None:
    assert b"(cs-finding:<slug>)" in load_template(Playbook.IMPLEMENTER)


def test_a_document_that_is_missing_or_not_readable_is_said_in_its_place(
    store: ContextStore, tmp_path: Path
) -> None:
    context = store.root / ".cspace/context"
    (context / "direction.md").unlink()
    (context / "roadmap.md").unlink()
    (tmp_path / "outside").write_bytes(b"outside")
    (context / "roadmap.md").symlink_to(tmp_path / "outside")
    preamble = load_preamble(store)
    assert b"direction.md -->\n(not written yet)" in preamble
    assert b"roadmap.md -->\n(not readable: " in preamble
    assert b"outside" not in preamble


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not a directory"):
        load_preamble(ContextStore(tmp_path / "gone"))
