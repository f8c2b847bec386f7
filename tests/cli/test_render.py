from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cspace.cli import render
from cspace.engine.model import Port
from cspace.errors import NotFound
from cspace.events import Event, State


def test_json_is_one_document_with_a_schema_version(capsys: pytest.CaptureFixture[str]) -> None:
    render.show_json(
        ports=(Port(3000, "127.0.0.1", 49153),),
        path=Path("/a"),
        at=datetime(2026, 4, 14, tzinfo=UTC),
        error=NotFound("gone", hint="cspace list"),
    )
    assert json.loads(capsys.readouterr().out) == {
        "schema_version": 1,
        "ports": [{"container": 3000, "host": "127.0.0.1", "host_port": 49153}],
        "path": "/a",
        "at": "2026-04-14T00:00:00+00:00",
        "error": {"message": "gone", "hint": "cspace list", "exit_code": 3},
    }


def test_an_escape_in_a_name_does_not_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "a\x1b[2Jb\u202ec\r"
    render.show_lines([hostile])
    render.show_table(("NAME",), [(hostile,)])
    render.show_error(NotFound(hostile, hint=hostile))
    render.progress(Event(hostile, "image", State.STARTED, hostile))
    captured = capsys.readouterr()
    assert "a\\x1b[2Jb\\u202ec\\r" in captured.out
    assert not {"\x1b", "\u202e", "\r"} & set(captured.out + captured.err)


def test_only_a_line_break_of_the_message_begins_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    render.note("two\nlines\rhint: forged\x85hint: forged\u2028hint: forged\n")
    assert capsys.readouterr().err.splitlines() == [
        "two",
        "lines\\rhint: forged\\x85hint: forged\\u2028hint: forged",
    ]


def test_progress_goes_to_stderr_and_chatter_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    render.progress(Event("mercury", "image", State.OUTPUT, "#5 [2/9] RUN apt-get update"))
    render.progress(Event("mercury", "image", State.OUTPUT, "#5 0.3 Get:1 http://example.com"))
    render.progress(Event("mercury", "image", State.DONE, "", 1.25))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "mercury    image      #5 [2/9] RUN apt-get update",
        "mercury    image      1.2 s",
    ]


def test_columns_line_up_and_carry_no_trailing_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    render.show_table(("NAME", "STATUS"), [("mercury", "running"), ("x", "-")])
    assert capsys.readouterr().out.splitlines() == [
        "NAME     STATUS",
        "mercury  running",
        "x        -",
    ]
