"""Who a process is, told by a mark that outlives it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cspace.alive import is_alive, own_mark

SAY = "from cspace.alive import own_mark; print(own_mark(), flush=True); input()"


def test_a_process_is_alive_until_it_ends_also_where_nobody_waited_for_it() -> None:
    with subprocess.Popen(
        (sys.executable, "-c", SAY), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        mark = process.stdout.readline().strip()
        assert is_alive(mark)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(mark)
    assert not is_alive(mark)
    assert is_alive(own_mark())


def test_a_number_that_another_process_got_is_not_the_same_process() -> None:
    where, _, started = own_mark().rpartition(" ")
    assert not is_alive(f"{where} {int(started) - 1}")
    assert not is_alive(f"another {own_mark()}")


@pytest.mark.parametrize("mark", ["", " ", "x", "a b c d", "1", "\n" * 9])
def test_what_is_no_mark_is_nobodys(mark: str) -> None:
    assert not is_alive(mark)
