"""What Claude Code loads of an index, and where its links lead."""

from __future__ import annotations

import time

import pytest

from cspace.claude_memory.index import MAX_CHARACTERS, parse_index


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("- [A](a.md) — hook", ["a.md"]),
        ("- [A](./a.md)", ["a.md"]),
        ("- [A](sub/../sub/a.md#part)", ["sub/a.md"]),
        ("- [A](a%20b%C3%BC.md)", ["a bü.md"]),
        ("- [A](<a b.md>)", ["a b.md"]),
        ('- [A](a.md "A title")', ["a.md"]),
        ("- [A [b] c](a(1).md)", ["a(1).md"]),
        (r"- [A](a\_b.md)", ["a_b.md"]),
        ("- [A](a.md), [B](b.md)", ["a.md", "b.md"]),
        ("[a]: a.md", ["a.md"]),
        ("- [A](e\u0301.md)", ["\xe9.md"]),
        ("- [A](../../secret.md)", ["../../secret.md"]),
        ("- [A](https://example.com/a.md)", []),
        ("- [A](mailto:a@example.com)", []),
        ("- [A](#part)", []),
        ("- `[A](a.md)`", []),
        ("```\n[A](a.md)\n```", []),
        ("<!-- [A](a.md) -->", []),
        ("- [[a]] [b] (c.md)", []),
    ],
)
def test_links_of_every_form_lead_to_files(line: str, paths: list[str]) -> None:
    assert [entry.path for entry in parse_index(line.encode()).entries] == paths


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 0),
        ("a\n\n", 1),
        ("---\nname: x\n---\na\nb\n", 2),
        ("<!-- a\n\nb -->\na\n", 1),
        ("a\n<!-- b --> c\n", 2),
        ("- a\n  <!-- b -->\n", 2),
        ("- a\n \n\n  <!-- b -->\n", 4),
        ("- \n  <!-- b -->\na\n", 2),
        ("```\n<!-- b -->\n```\n", 3),
        ("a\n<!-- never closed\n", 2),
    ],
)
def test_lines_count_without_front_matter_and_comments(text: str, lines: int) -> None:
    assert parse_index(text.encode()).lines == lines


def test_characters_count_as_in_javascript() -> None:
    assert parse_index("😀é".encode()).characters == 3
    assert parse_index(b"x" * MAX_CHARACTERS + b"\n").fits
    assert not parse_index("😀".encode() * (MAX_CHARACTERS // 2) + b"x").fits


@pytest.mark.parametrize(
    "mark",
    [b"[", b"[a](", b"<!--\n", b"```\n", b"`", b"[a]: <", b"---\n", b"\n   <!-- -->\n"],
)
def test_an_index_of_nothing_but_openings_is_read_soon(mark: bytes) -> None:
    started = time.process_time()
    parse_index(mark * (2 * 1024 * 1024 // len(mark)))
    assert time.process_time() - started < 5
