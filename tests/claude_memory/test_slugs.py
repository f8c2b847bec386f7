"""Names of directories, as Claude Code makes them; tests/docker compares them with the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace.claude_memory.slugs import find_named, slug_of_path

LONG = Path("/tmp/s") / ("x" * 195)


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/workspace", "-workspace"),
        ("/home/ann/My Project_2.0", "-home-ann-My-Project-2-0"),
        ("/ü", "--"),
        ("/u\u0308", "-u-"),
        ("/😀", "---"),
        ("/a\nb", "-a-b"),
        ("/", "-"),
    ],
)
def test_what_is_no_letter_or_digit_becomes_a_dash(path: str, slug: str) -> None:
    assert slug_of_path(Path(path)) == slug


def test_beyond_200_characters_a_hash_of_the_path_follows() -> None:
    assert slug_of_path(LONG) == f"-tmp-s-{'x' * 193}-4n58yd"
    assert slug_of_path(LONG.with_name("x" * 193)) == f"-tmp-s-{'x' * 193}"


def test_another_hash_is_found_where_nothing_else_starts_so(tmp_path: Path) -> None:
    expected = tmp_path / slug_of_path(LONG)
    assert find_named(tmp_path, LONG) == expected
    other = tmp_path / f"{expected.name[:200]}-other"
    other.mkdir()
    assert find_named(tmp_path, LONG) == other
    (tmp_path / f"{expected.name[:200]}-third").mkdir()
    assert find_named(tmp_path, LONG) == expected
    expected.mkdir()
    assert find_named(tmp_path, LONG) == expected
