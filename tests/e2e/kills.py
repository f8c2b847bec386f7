"""Kills a cspace at a moment that a test chooses: in a phase, or as a program of its starts."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.conftest import OUTSIDE
from tests.e2e.person import Person, kill

# Every program that cspace starts.
PROGRAMS = ("chmod", "docker", "git", "rm")
# Stands in for a program. It counts, and at the chosen call kills its caller's whole group, or only
# its caller: then it goes on, late enough to be in the way of the next command.
_STAND_IN = """\
#!/bin/sh
echo "$*" >>'{tools}/calls'
if [ "$({wc} -l <'{tools}/calls')" = "$KILL_AT" ]; then
    case $KILL_WHOM in
    group) kill -9 0 ;;
    alone) kill -9 $PPID; sleep 0.5 ;;
    esac
fi
exec '{real}' "$@"
"""


class Whom(StrEnum):
    """What is killed: cspace with its programs, or cspace alone."""

    GROUP = "group"
    ALONE = "alone"


@dataclass(frozen=True, slots=True)
class InPhase:
    """So many seconds after a phase was announced; everything is killed."""

    phase: str
    delay: float


@dataclass(frozen=True, slots=True)
class AtProgram:
    """Where the program of this number, from 1 on, is started."""

    number: int
    whom: Whom


Moment = InPhase | AtProgram


@dataclass(frozen=True, slots=True)
class Killer:
    """Runs cspace with stand-ins for the programs that it starts."""

    tools: Path

    def run(self, person: Person, *words: str) -> tuple[tuple[str, ...], int]:
        """Run cspace to its end; return its phases and how many programs it started."""
        process = self._start(person, AtProgram(0, Whom.GROUP), words)
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
        lines = (line.split() for line in said.decode().splitlines())
        phases = dict.fromkeys(line[1] for line in lines if line[2:3] == ["…"])
        return tuple(phases), len(self._log.read_text(encoding="utf-8").splitlines())

    def kill(self, person: Person, moment: Moment, *words: str) -> bool:
        """Kill cspace at a moment; tell whether that came before its end."""
        process = self._start(person, moment, words)
        if isinstance(moment, InPhase):
            until(process, moment.phase.encode())
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=moment.delay)
            kill(process)
        else:
            process.communicate()
        return process.returncode == -signal.SIGKILL

    def _start(
        self, person: Person, moment: Moment, words: tuple[str, ...]
    ) -> subprocess.Popen[bytes]:
        self._log.unlink(missing_ok=True)
        number, whom = ("0", "") if isinstance(moment, InPhase) else (moment.number, moment.whom)
        path = f"{self.tools}{os.pathsep}{person.environment['PATH']}"
        variables = {"PATH": path, "KILL_AT": str(number), "KILL_WHOM": whom}
        return person.having(**variables).start(person.program, *words)

    @property
    def _log(self) -> Path:
        return self.tools / "calls"


def make_killer(tools: Path) -> Killer:
    """Write the stand-ins into an empty directory."""
    for name in PROGRAMS:
        real, wc = (shutil.which(each, path=OUTSIDE["PATH"]) for each in (name, "wc"))
        stand_in = tools / name
        stand_in.write_text(_STAND_IN.format(tools=tools, real=real, wc=wc), encoding="utf-8")
        stand_in.chmod(0o755)
    return Killer(tools)


def until(process: subprocess.Popen[bytes], phase: bytes) -> bool:
    """Wait until a program says that a phase begins; tell whether it did before its end."""
    assert process.stderr is not None
    return any(line.split()[1:2] == [phase] for line in process.stderr)
