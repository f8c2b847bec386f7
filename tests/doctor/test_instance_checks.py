"""What is judged of an instance, by what the host sees and by what the instance says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cspace.doctor import instance_checks as checks
from cspace.doctor.answer import Answer, Place
from cspace.doctor.instance_checks import Subject
from cspace.doctor.model import Patient
from cspace.engine.model import Container, State
from cspace.files import Owner
from cspace.instance import labels
from cspace.instance.observe import Observed
from cspace.instance.secret_sources import Secret, Secrets, Source
from cspace.instance.secrets import deliver_secrets
from cspace.lifecycle.examination import judge_egress

OWNER = Owner(os.geteuid(), os.getegid())


def container(state: State = State.RUNNING) -> Container:
    return Container("id", "name", "image", {labels.SPEC: "now"}, state, ())


@pytest.fixture
def subject(patient: Patient) -> Subject:
    """Return an instance whose mounts are there."""
    observed = Observed(
        "mercury", record=None, has_workspace=True, has_state=True, container=container()
    )
    made = Subject(patient, observed, OWNER, "now")
    for mount in made.mounts:
        mount.source.mkdir(parents=True, exist_ok=True)
    return made


@pytest.fixture
def answer(subject: Subject) -> Answer:
    """Return what an instance in order says."""
    places = {
        mount.target: Place(1000, writable=not mount.read_only, mounted=True)
        for mount in subject.mounts
    }
    return Answer(
        uid=1000,
        places=places,
        name="A",
        email="a@example.com",
        git_helper=True,
        key_helper=True,
        server="cspace context-server",
        server_problem=None,
    )


def inside(subject: Subject, answer: Answer) -> list[str]:
    return [one.problem for check in checks.FROM_INSIDE for one in check(subject, answer)]


def test_of_an_instance_in_order_nothing_is_named(subject: Subject, answer: Answer) -> None:
    assert checks.examine_outside(subject) == ()
    assert inside(subject, answer) == []


@pytest.mark.parametrize(
    ("there", "repair"),
    [
        (None, "cspace up mercury"),
        (container(State.STOPPED), "cspace start mercury"),
        (container(State.UNHEALTHY), "cspace logs mercury; then: cspace up mercury --recreate"),
    ],
)
def test_one_that_does_not_run_is_named(
    subject: Subject, there: Container | None, repair: str
) -> None:
    (found,) = checks.check_running(
        replace(subject, observed=replace(subject.observed, container=there))
    )
    assert found.repair == repair


@pytest.mark.parametrize(("spec", "named"), [("now", 0), ("later", 1), (None, 0)])
def test_earlier_settings_are_named(subject: Subject, spec: str | None, named: int) -> None:
    assert len(checks.check_spec(replace(subject, spec=spec))) == named


def test_a_directory_that_is_gone_is_named(subject: Subject) -> None:
    subject.paths.journal.rmdir()
    (found,) = checks.check_sources(subject)
    assert found.problem == f"{subject.paths.journal} can not be mounted: No such file or directory"


def test_a_directory_that_the_instances_user_can_not_write_to_is_named(subject: Subject) -> None:
    other = replace(subject, owner=Owner(4321, 4321))
    memory = subject.patient.project.root / ".cspace/memory"
    assert f"{memory} belongs to uid {OWNER.uid}" in str(checks.check_sources(other))
    memory.chmod(0o777)
    assert f"{memory} " not in str(checks.check_sources(other))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (None, "is not there, or can not be entered"),
        (Place(1000, writable=True, mounted=False), "is not the mounted directory"),
        (Place(0, writable=False, mounted=True), "belongs to uid 0, and its user 1000 can not"),
    ],
)
def test_a_mount_that_is_wrong_inside_is_named(
    subject: Subject, answer: Answer, place: Place | None, said: str
) -> None:
    places = {**answer.places, "/workspace": place}
    (problem,) = inside(subject, replace(answer, places=places))
    assert problem.startswith(f"mercury: /workspace {said}")


def test_secrets_that_an_instance_can_write_are_named(subject: Subject, answer: Answer) -> None:
    places = {**answer.places, "/run/secrets": Place(1000, writable=True, mounted=True)}
    (problem,) = inside(subject, replace(answer, places=places))
    assert problem == "mercury: /run/secrets can be written to, and must not be"


def test_an_answer_without_any_mount_names_each(subject: Subject, answer: Answer) -> None:
    assert len(inside(subject, replace(answer, places={}))) == len(subject.mounts)


def test_what_is_delivered_and_not_asked_for_is_named(subject: Subject, answer: Answer) -> None:
    silent = replace(answer, git_helper=False, key_helper=False)
    assert inside(subject, silent) == []
    names = ("anthropic_api_key", "github_token", "npm_token")
    given = tuple(Secret(name, "marker", Source.USER, "there") for name in names)
    deliver_secrets(subject.paths.secrets, Secrets(given), OWNER)
    assert inside(subject, silent) == [
        "mercury has github_token, and git there does not ask for it",
        "mercury has anthropic_api_key, and Claude Code there does not ask for it",
    ]


@pytest.mark.parametrize(("before", "named"), [(Source.USER, 1), (Source.FLAG, 0)])
def test_a_value_that_was_not_delivered_is_named_unless_a_flag_stands_before_it(
    subject: Subject, before: Source, named: int, tmp_path: Path
) -> None:
    def secrets(source: Source, value: str) -> Secrets:
        return Secrets((Secret("npm_token", value, source, str(tmp_path)),))

    deliver_secrets(subject.paths.secrets, secrets(before, "marker-1"), OWNER)
    patient = replace(subject.patient, secrets=lambda: secrets(Source.USER, "marker-2"))
    found = checks.check_delivered(replace(subject, patient=patient))
    assert len(found) == named
    assert "marker" not in repr(found)


@pytest.mark.parametrize(
    ("observed", "repair"),
    [
        ("allowlist (24 names)", []),
        ("open: firewall.enabled is false", []),
        ("unknown: it does not run", []),
        ("open: datagrams past the routes, though firewall.enabled is true", ["cspace up mercury"]),
        ("blocked: the proxy does not answer", ["cspace up mercury"]),
        ("open: DNS, though firewall.enabled is true", ["cspace up mercury --recreate"]),
        ("unknown: the probe did not answer", ["cspace up mercury --recreate"]),
    ],
)
def test_egress_is_judged_by_what_was_observed(observed: str, repair: list[str]) -> None:
    assert [one.repair for one in judge_egress("mercury", observed)] == repair
