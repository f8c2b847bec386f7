"""Slugs are made from any title, and checked before anything is opened."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.docstore.slugs import check_slug, slug_of
from cspace.errors import UsageError


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Use awk for preamble substitution", "use-awk-for-preamble-substitution"),
        ("Straße à la Ærø, Łódź & þorn", "strasse-a-la-aero-lodz-thorn"),
        ("  --Trim me!--  ", "trim-me"),
        ("x" * 59 + " tail", "x" * 59),
        ("İstanbul ½ ①", "istanbul-1-2-1"),
    ],
)
def test_a_title_is_transliterated_into_its_slug(title: str, slug: str) -> None:
    assert slug_of(title) == slug


@pytest.mark.parametrize("title", ["決定", "!!!", "🚀"])
def test_a_title_without_usable_letters_gets_a_hash(title: str) -> None:
    assert re.fullmatch(r"entry-[0-9a-f]{6}", slug_of(title))
    assert slug_of(title) == slug_of(title)


@given(st.text())
def test_every_slug_passes_its_own_check_and_is_short(title: str) -> None:
    slug = slug_of(title)
    assert check_slug(slug) == slug
    assert 1 <= len(slug) <= 60
    assert not slug.startswith("-")


def test_one_md_suffix_is_allowed_on_input() -> None:
    assert check_slug("2026-04-14-awk.md") == "2026-04-14-awk"


@pytest.mark.parametrize(
    "slug",
    [
        "../x",
        "/etc/passwd",
        "a/b",
        "a\0b",
        "Upper",
        "a_b",
        "",
        ".md",
        "a.md.md",
        "a\n",
        "é",
        "a" * 300,
    ],
)
def test_a_slug_that_could_leave_the_directory_is_refused(slug: str) -> None:
    with pytest.raises(UsageError, match="only a-z, 0-9 and -"):
        check_slug(slug)
