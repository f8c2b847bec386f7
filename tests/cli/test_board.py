"""The board of a batch, on a real terminal."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import run_on_terminal

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
BATCH = """
import sys, time
from cspace.cli import render
from cspace.cli.batch import show_batch
from cspace.errors import NotFound
from cspace.events import Event, State

def act(name):
    render.progress(Event(name, "workspace", State.STARTED, "there is no finished clone"))
    time.sleep(0.5)
    if name == "venus":
        render.progress(Event(name, "quarantine", State.NOTICE, "moved \\x1b[2J aside"))
        raise NotFound("venus has gone", hint="cspace list")
    render.progress(Event(name, "workspace", State.DONE, "", 0.5))
    return name

names = sys.argv[1:]
show_batch(names, act, lambda name: f"{name} is ready", as_json=False)
"""


def show(tmp_path: Path, *names: str, **variables: str) -> str:
    """Run a batch on a terminal; return what it wrote there."""
    program = tmp_path / "batch.py"
    program.write_text(BATCH, encoding="utf-8")
    words = (sys.executable, str(program), *names)
    return run_on_terminal(words, cwd=tmp_path, variables=variables).out


def test_several_have_a_row_each_with_phase_and_seconds_until_they_are_done(tmp_path: Path) -> None:
    shown = show(tmp_path, "mercury", "venus", "earth", TERM="xterm")
    plain = CONTROL.sub("", shown)
    assert re.search(r"mercury +workspace +0\.[2-5] s +there is no finished clone", plain)
    assert re.search(r"venus +failed +0\.[5-9] s", plain)
    assert "3 of 3 done" in plain
    # Drawn over, and at the end nothing of it is left above what came.
    assert "\x1b[1A\x1b[2K" in shown
    assert plain.split("3 of 3 done")[-1].split() == [] or "mercury is ready" in plain


def test_notices_stay_above_the_rows_with_control_characters_as_escapes(tmp_path: Path) -> None:
    shown = show(tmp_path, "mercury", "venus", TERM="xterm")
    assert "note: moved \\x1b[2J aside\n" in shown
    assert "\x1b[2J" not in shown


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_left_out_where_they_are_not_wanted(
    tmp_path: Path, variables: dict[str, str], *, coloured: bool
) -> None:
    shown = show(tmp_path, "mercury", "venus", TERM="xterm", **variables)
    assert ("\x1b[32m" in shown, "done" in shown) == (coloured, True)


@pytest.mark.parametrize(
    ("names", "terminal"), [(["mercury"], "xterm"), (["mercury", "earth"], "dumb")]
)
def test_one_alone_or_a_dumb_terminal_has_plain_lines(
    tmp_path: Path, names: list[str], terminal: str
) -> None:
    shown = show(tmp_path, *names, TERM=terminal)
    assert "\x1b" not in shown
    assert "mercury    workspace  … there is no finished clone\n" in shown
    assert "mercury    workspace  0.5 s\n" in shown


def test_more_than_the_terminal_has_lines_are_counted(tmp_path: Path) -> None:
    names = [f"agent-{number}" for number in range(12)]
    plain = CONTROL.sub("", show(tmp_path, *names, TERM="xterm", LINES="9"))
    assert "12 of 12 done" in plain
    assert "waiting" not in plain


def test_rich_is_loaded_for_a_board_alone() -> None:
    code = (
        "import sys, cspace.cli.app, cspace.cli.batch, cspace.lifecycle.up;"
        "print(any(name.split('.')[0] == 'rich' for name in sys.modules))"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
