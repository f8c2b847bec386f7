"""Who a process is, for others to tell whether it still runs: what it leaves behind is debris then.

Written where no lock of a file can be held, for example on a container.
"""

from __future__ import annotations

import os
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
# In /proc/PID/stat, counted behind the name of the program, which can hold anything.
_STATE = 0
_STARTED = 19
_ENDED = frozenset({"Z", "X"})


def own_mark() -> str:
    """Return what no other process has, on this machine or after its next start."""
    return f"{_here()} {os.getpid()} {_read_stat(os.getpid())[_STARTED]}"


def is_alive(mark: str) -> bool:
    """Tell whether the process of a mark runs; one that can not be seen from here does not."""
    here, _, process = mark.rpartition(" ")[0].rpartition(" ")
    if here != _here() or not process.isdecimal():
        return False
    try:
        stat = _read_stat(int(process))
    except OSError:
        return False
    return stat[_STATE] not in _ENDED and stat[_STARTED] == mark.rpartition(" ")[2]


def _here() -> str:
    """Return what numbers of processes are valid in."""
    return f"{_BOOT.read_text(encoding='ascii').strip()} {Path('/proc/self/ns/pid').readlink()}"


def _read_stat(process: int) -> list[str]:
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(") ")[2].split()
