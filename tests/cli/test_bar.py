"""The progress bar, on a pseudo terminal."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pytest

from cspace.cli.bar import Bar, render_bar
from cspace.events import Event, State


@dataclass(slots=True)
class Seconds:
    """A clock that stands still until the test moves it."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True)
class Terminal:
    """Both ends of a terminal."""

    ours: int
    stream: TextIO

    def shown(self) -> str:
        """Return what was written since the last call."""
        self.stream.write("|")
        self.stream.flush()
        found = b""
        while not found.endswith(b"|"):
            found += os.read(self.ours, 65536)
        return found.decode().removesuffix("|")


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        yield Terminal(ours, stream)
    os.close(ours)


def advanced(done: int, total: int | None) -> Event:
    return Event("shop", "copy", State.ADVANCED, done=done, total=total)


def test_what_is_done_within_a_second_shows_no_bar(terminal: Terminal) -> None:
    seconds = Seconds()
    bar = Bar(seconds)
    for _ in range(9):
        bar.advance(advanced(1, 2), terminal.stream, "copy")
        seconds.now += 0.1
    assert terminal.shown() == ""


def test_a_longer_one_is_redrawn_in_one_line_and_then_gone(terminal: Terminal) -> None:
    seconds = Seconds()
    bar = Bar(seconds)
    for done in range(4):
        bar.advance(advanced(done, 4), terminal.stream, "copy")
        seconds.now += 1.0
    bar.finish(terminal.stream)
    shown = terminal.shown()
    assert "\n" not in shown
    frames = [frame for frame in shown.split("\r") if frame.strip()]
    assert [frame.rsplit(maxsplit=1)[1] for frame in frames] == ["25%", "50%", "75%"]
    assert shown.split("\r")[-2:] == [" " * len(frames[-1]), ""]


def test_a_bar_is_not_redrawn_for_every_file(terminal: Terminal) -> None:
    seconds = Seconds()
    bar = Bar(seconds)
    for done in range(10_000):
        bar.advance(advanced(done, None), terminal.stream, "copy")
        seconds.now += 0.001
    assert terminal.shown().count("\r") <= 91


def test_what_comes_after_has_a_second_of_its_own(terminal: Terminal) -> None:
    seconds = Seconds()
    bar = Bar(seconds)
    bar.advance(advanced(1, 2), terminal.stream, "copy")
    bar.finish(terminal.stream)
    seconds.now += 5
    bar.advance(advanced(1, 2), terminal.stream, "copy")
    assert terminal.shown() == ""


def test_without_a_terminal_there_is_no_bar(tmp_path: Path) -> None:
    seconds = Seconds()
    bar = Bar(seconds)
    with (tmp_path / "log").open("w+", encoding="utf-8") as log:
        for _ in range(3):
            bar.advance(advanced(1, 2), log, "copy")
            seconds.now += 2
        bar.finish(log)
        assert log.tell() == 0


def test_where_the_whole_is_not_known_the_bytes_are_shown() -> None:
    assert render_bar(advanced(3 * 2**19, None), "copy") == "copy 1.5 MiB"
    assert render_bar(advanced(12, 12), "copy") == f"copy [{'#' * 24}] 100%"
    assert render_bar(advanced(13, 12), "copy").endswith("100%")
