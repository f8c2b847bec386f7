from __future__ import annotations

import errno
import subprocess
import sys
import threading
from pathlib import Path

from cspace.errors import NotFound
from cspace.lifecycle.batch import Outcome, at_once, run_batch


def act(name: str) -> str:
    if name == "pluto":
        raise NotFound("pluto is no planet")
    return name.upper()


def test_results_come_in_the_order_of_the_names() -> None:
    names = ("venus", "mercury", "earth", "mars", "saturn", "uranus")
    assert [each.result for each in run_batch(names, act)] == [name.upper() for name in names]


def test_the_failure_of_one_does_not_stop_the_others() -> None:
    first, second = run_batch(("pluto", "mars"), act)
    assert (first.result, str(first.error)) == (None, "pluto is no planet")
    assert (second.result, second.error) == ("MARS", None)


def test_a_bug_in_one_does_not_hide_what_came_of_the_others() -> None:
    def buggy(name: str) -> str:
        if name == "mars":
            raise ValueError(name)
        return name

    first, second = run_batch(("mars", "venus"), buggy)
    assert (first.result, type(first.error)) == (None, ValueError)
    assert (second.result, second.error) == ("venus", None)


def test_an_outcome_is_given_as_soon_as_it_is_there() -> None:
    seen = threading.Event()

    def wait_for_the_other(name: str) -> str:
        assert name == "mars" or seen.wait(timeout=30)
        return name

    came: list[str] = []

    def take(outcome: Outcome[str]) -> None:
        came.append(outcome.name)
        seen.set()

    run_batch(("venus", "mars"), wait_for_the_other, on_outcome=take)
    assert came == ["mars", "venus"]


def test_no_more_are_worked_on_at_a_time_than_the_machine_takes() -> None:
    full = threading.Barrier(at_once())
    lock, now, most = threading.Lock(), 0, 0

    def count(name: str) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        full.wait(timeout=30)
        with lock:
            now -= 1

    outcomes = run_batch([str(number) for number in range(2 * at_once())], count)
    assert [outcome.error for outcome in outcomes] == [None] * 2 * at_once()
    assert most == at_once()


INTERRUPTED = """
import os, signal, sys, threading
from cspace.lifecycle.batch import at_once, run_batch

begun, names = [], [str(number) for number in range(3 * at_once())]
go = threading.Event()

def act(name):
    begun.append(name)
    if len(begun) == at_once():
        os.kill(os.getpid(), signal.SIGINT)
    go.wait()
    return name

came = []
try:
    run_batch(names, act, on_outcome=lambda o: came.append(o.name), on_interrupt=go.set)
except KeyboardInterrupt:
    print(len(begun) == len(came) == at_once(), sorted(came) == sorted(begun))
"""


def test_after_ctrl_c_none_is_begun_and_what_runs_is_waited_for() -> None:
    done = subprocess.run(
        (sys.executable, "-c", INTERRUPTED), capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True True\n"


def test_a_full_disk_is_the_failure_of_one(tmp_path: Path) -> None:
    def full(name: str) -> str:
        if name == "mars":
            raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path))
        return name

    first, second = run_batch(("mars", "venus"), full)
    assert str(first.error) == f"{tmp_path}: No space left on device"
    assert second.result == "venus"
