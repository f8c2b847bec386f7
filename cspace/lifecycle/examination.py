"""Joins the machine, the project and one instance into what a doctor says."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cspace.doctor.checks import examine
from cspace.doctor.credentials import list_credentials
from cspace.doctor.instance_checks import Subject, examine_inside, examine_outside
from cspace.doctor.model import Diagnosis, Patient
from cspace.egress.observed import SET_OPEN, UNSEALED
from cspace.errors import CspaceError, EngineUnavailable
from cspace.events import Event, Report, State
from cspace.instance.names import check_name
from cspace.instance.observe import Observed, get_instance
from cspace.instance.secrets import Delivered, list_delivered
from cspace.lifecycle import steps
from cspace.lifecycle.host import Host
from cspace.lifecycle.observed_egress import NOT_RUNNING, observe_egress
from cspace.owner import find_owner
from cspace.paths import instance_paths


@dataclass(frozen=True, slots=True)
class Examination:
    """What a doctor says.

    Attributes:
        credentials: what the next `up` would deliver.
        delivered: what the named instance has; empty without one.
        egress: what was observed in its network; None without one.
    """

    credentials: tuple[Delivered, ...]
    delivered: tuple[Delivered, ...]
    egress: str | None
    diagnoses: tuple[Diagnosis, ...]


def examine_all(patient: Patient, name: str | None, host: Callable[[], Host]) -> Examination:
    """Examine the machine and the project, and an instance where one is named.

    Args:
        host: joins the settings of today; raises where they are broken.

    Raises:
        NotFound: there is no instance of that name.
        EngineUnavailable: the engine does not answer, and no directory has the name either.
    """
    subject = _find_subject(patient, name, host) if name is not None else None
    found = examine(patient)
    delivered: tuple[Delivered, ...] = ()
    if name is not None:
        delivered = list_delivered(instance_paths(patient.user, patient.project.id, name).secrets)
    egress = None
    if subject is not None:
        with _reported(patient.report, subject.name):
            egress = _observe_egress(subject)
            found += (*examine_outside(subject), *judge_egress(subject.name, egress))
            found += examine_inside(subject)
    return Examination(list_credentials(patient), delivered, egress, found)


def _find_subject(patient: Patient, name: str, host: Callable[[], Host]) -> Subject | None:
    """Find the instance that is to be examined; None where only the engine could tell more."""
    check_name(name)
    try:
        observed = get_instance(patient.engine, patient.user, patient.project.id, name)
    except EngineUnavailable:
        if not instance_paths(patient.user, patient.project.id, name).state.is_dir():
            raise
        return None
    return Subject(patient, observed, find_owner(), _spec(observed, host))


def _spec(observed: Observed, host: Callable[[], Host]) -> str | None:
    """Return the hash of what an instance would be made from now; None where that is broken."""
    if observed.container is None:
        return None
    try:
        return steps.render(host(), observed.name).digest
    except (CspaceError, OSError):
        return None  # said of the settings


def _observe_egress(subject: Subject) -> str:
    patient, name = subject.patient, subject.name
    observed = (subject.observed,)
    return observe_egress(patient.engine, patient.user, patient.project.id, observed)[name]


def judge_egress(name: str, observed: str) -> tuple[Diagnosis, ...]:
    """Judge what was observed; what somebody set so is no fault."""
    if observed.startswith("allowlist") or observed in (NOT_RUNNING, SET_OPEN):
        return ()
    # A proxy that is gone comes back with any `up`, and so does the seal; another network needs
    # another container.
    repairable = observed.startswith(("blocked", f"open: {UNSEALED}, though"))
    repair = f"cspace up {name}" if repairable else f"cspace up {name} --recreate"
    return (Diagnosis("egress", f"egress of {name} is {observed}", repair),)


@contextlib.contextmanager
def _reported(report: Report, name: str) -> Iterator[None]:
    """Say that an instance is looked into, since that takes seconds."""
    started = time.monotonic()
    report(Event(name, "doctor", State.STARTED, "looks inside"))
    try:
        yield
    finally:
        report(Event(name, "doctor", State.DONE, seconds=time.monotonic() - started))
