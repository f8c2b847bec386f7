"""Somebody else on the machine who swaps a directory with a link, as fast as they can."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# One exchange is one step: the name is never free, so whoever looks finds the one or the other.
_SWAPPER = """
import ctypes, os, sys
exchange = ctypes.CDLL(None, use_errno=True).renameat2
place, other = (os.fsencode(word) for word in sys.argv[1:3])
count = int(sys.argv[3])
done = 0
print("ready", flush=True)
while done != count:
    if exchange(-100, place, -100, other, 2) == 0:
        done += 1
    elif ctypes.get_errno() not in (2, 39):  # away for a moment: it is being removed
        sys.exit(os.strerror(ctypes.get_errno()))
"""


@contextlib.contextmanager
def swapping(place: Path, target: Path, *, count: int = -1) -> Iterator[subprocess.Popen[bytes]]:
    """Swap a directory with a link to target while the block lasts; afterwards it is itself again.

    Args:
        count: how many times, an even number; the process that is handed over ends then. By default
            until the block ends.
    """
    link = place.with_name(f"{place.name}.swapped")
    link.symlink_to(target)
    words = (sys.executable, "-c", _SWAPPER, place, link, str(count))
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()
            process.wait()
            if link.is_dir() and not link.is_symlink():
                # A link that was swept away meanwhile may have been followed by a directory.
                if place.is_symlink():
                    place.unlink()
                elif place.exists():
                    shutil.rmtree(place)
                link.rename(place)
            else:
                link.unlink(missing_ok=True)
