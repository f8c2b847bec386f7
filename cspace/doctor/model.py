"""Who is examined, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace.clock import Clock, utc_now
from cspace.engine.model import Engine
from cspace.events import Report, ignore
from cspace.instance.secret_sources import Secrets
from cspace.project import Project


@dataclass(frozen=True, slots=True)
class Patient:
    """One project on this machine.

    Attributes:
        user: `~/.cspace`.
        environ: the variables that settings are read from.
        secrets: finds what the next `up` would deliver; the same at every call.
    """

    engine: Engine
    project: Project
    user: Path
    environ: Mapping[str, str]
    secrets: Callable[[], Secrets] = Secrets
    now: Clock = utc_now
    report: Report = ignore


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that is wrong.

    Attributes:
        check: which check found it.
        problem: what is wrong, naming it.
        repair: the command, or what else to do.
    """

    check: str
    problem: str
    repair: str


Check = Callable[[Patient], tuple[Diagnosis, ...]]
