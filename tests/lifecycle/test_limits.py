from __future__ import annotations

import pytest

from cspace.engine.model import Capacity
from cspace.lifecycle.limits import automatic_limits, limits_in_force
from cspace.settings.model import Limits, Numbers

GIB = 2**30


@pytest.mark.parametrize(
    ("machine", "suggested"),
    [
        (Capacity(1, GIB, 4096), Numbers(1, "2048m", 512)),
        (Capacity(2, 8 * GIB, 32768), Numbers(2, "2048m", 4096)),
        (Capacity(4, 16 * GIB, 16384), Numbers(3, "4096m", 2048)),
        (Capacity(64, 256 * GIB, 4194304), Numbers(63, "65536m", 4096)),
    ],
)
def test_what_auto_stands_for_follows_the_machine(machine: Capacity, suggested: Numbers) -> None:
    assert automatic_limits(machine) == suggested


def test_a_number_and_no_limit_stay_as_they_were_set() -> None:
    limits = Limits(cpus=0.5, memory=None, pids="auto")
    assert limits_in_force(limits, Capacity(4, 16 * GIB, 16384)) == Numbers(0.5, None, 2048)
