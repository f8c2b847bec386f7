"""The active persona: a marker names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace.errors import CspaceError, UsageError
from cspace.memory.personas import MARKER, Personas


def test_a_persona_is_active_until_it_is_cleared(tmp_path: Path) -> None:
    personas = Personas(tmp_path / "memory")
    assert personas.active() is None
    personas.use("reviewer")
    assert personas.active() == "reviewer"
    personas.clear()
    assert personas.active() is None
    personas.clear()


@pytest.mark.parametrize("name", ["..", "a/b", "-x", "MEMORY", "nul", ""])
def test_a_persona_that_has_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="persona"):
        Personas(tmp_path / "memory").use(name)
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize("content", [b"../user\n", b"", b"\xff\n", b"a\nb\n", b"\x1b[2J\n"])
def test_a_marker_that_names_none_is_an_error_that_says_how_to_clear_it(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / MARKER).write_bytes(content)
    with pytest.raises(CspaceError) as caught:
        Personas(tmp_path).active()
    assert caught.value.hint == "cspace memory persona clear"
    assert str(caught.value).isprintable()


def test_a_linked_marker_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("reviewer\n", encoding="utf-8")
    (tmp_path / MARKER).symlink_to("outside")
    with pytest.raises(CspaceError, match="symbolic links"):
        Personas(tmp_path).active()
    Personas(tmp_path).clear()
    assert Personas(tmp_path).active() is None


def test_personas_are_the_directories_and_no_links(tmp_path: Path) -> None:
    for name in ("reviewer", "Odd", ".dot"):
        (tmp_path / "personas" / name).mkdir(parents=True)
    (tmp_path / "personas/linked").symlink_to(tmp_path)
    assert Personas(tmp_path).names() == ("reviewer",)
