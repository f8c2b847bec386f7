from __future__ import annotations

import errno
from pathlib import Path

import pytest

from cspace.errors import CspaceError, NotFound
from cspace.lifecycle.batch import run_batch


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


def test_a_bug_is_not_taken_for_an_expected_failure() -> None:
    def buggy(name: str) -> str:
        raise ValueError(name)

    with pytest.raises(ValueError, match="mars") as caught:
        run_batch(("mars", "venus"), buggy)
    assert not isinstance(caught.value, CspaceError)


def test_a_full_disk_is_the_failure_of_one(tmp_path: Path) -> None:
    def full(name: str) -> str:
        if name == "mars":
            raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path))
        return name

    first, second = run_batch(("mars", "venus"), full)
    assert str(first.error) == f"{tmp_path}: No space left on device"
    assert second.result == "venus"
