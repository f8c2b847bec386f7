from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from cspace.engine.model import Container, State
from cspace.errors import CspaceError
from cspace.instance.observe import Observed, Status
from cspace.instance.plan import Action, Lacks, Step, keeps_container, plan_down, plan_up
from cspace.instance.record import Record

RECORD = Record(
    name="mercury",
    project="shop-0123abcd",
    root=Path("/shop"),
    branch="cspace/mercury",
    base="0" * 40,
    known=(),
    engine="engine",
    created=datetime(2026, 4, 14, tzinfo=UTC),
)
CONTAINER = Container("id", "name", "image", {}, State.RUNNING, ())
NOTHING = Observed("mercury", None, has_workspace=False, has_state=False, container=None)
RUNNING = Observed("mercury", RECORD, has_workspace=True, has_state=True, container=CONTAINER)
STOPPED = replace(RUNNING, container=replace(CONTAINER, state=State.STOPPED))
DORMANT = replace(RUNNING, container=None)
RESTORING = replace(DORMANT, record=replace(RECORD, restoring="20260414T103000Z"))


def actions(steps: tuple[Step, ...]) -> list[Action]:
    return [step.action for step in steps]


def test_what_runs_needs_nothing() -> None:
    assert plan_up(RUNNING, has_image=False, recreate=False) == ()


def test_a_new_instance_needs_every_step_in_order() -> None:
    steps = plan_up(NOTHING, has_image=False, recreate=False)
    assert actions(steps) == [
        Action.PROVE,
        Action.IMAGE,
        Action.WORKSPACE,
        Action.MOUNTS,
        Action.COMPOSE,
        Action.START,
    ]
    assert all(step.cause for step in steps)


def test_a_slow_start_hazard_an_image_that_is_there_is_not_built() -> None:
    assert Action.IMAGE not in actions(plan_up(NOTHING, has_image=True, recreate=False))


def test_a_stopped_container_is_started_and_neither_its_image_nor_its_clone_is_made() -> None:
    steps = actions(plan_up(STOPPED, has_image=False, recreate=False))
    assert steps == [Action.PROVE, Action.MOUNTS, Action.COMPOSE, Action.START]


def test_recreating_keeps_the_workspace() -> None:
    steps = actions(plan_up(RUNNING, has_image=False, recreate=True))
    assert Action.IMAGE in steps
    assert Action.WORKSPACE not in steps


def test_a_dormant_workspace_is_reused() -> None:
    assert DORMANT.status is Status.DORMANT
    assert Action.WORKSPACE not in actions(plan_up(DORMANT, has_image=True, recreate=False))


def test_an_unfinished_restore_is_finished_before_anything_starts() -> None:
    assert RESTORING.status is Status.INCOMPLETE
    steps = actions(plan_up(RESTORING, has_image=True, recreate=False))
    assert steps.index(Action.UNPACK) < steps.index(Action.START)


def test_down_stops_and_archives_before_it_removes() -> None:
    steps = actions(plan_down(RUNNING, has_image=True, discard=False))
    assert steps == [Action.STOP, Action.ARCHIVE, Action.CONTAINERS, Action.STATE]


def test_down_builds_a_missing_image_before_it_stops_anything() -> None:
    steps = actions(plan_down(RUNNING, has_image=False, discard=False))
    assert steps[:3] == [Action.IMAGE, Action.STOP, Action.ARCHIVE]
    assert Action.IMAGE not in actions(plan_down(RUNNING, has_image=False, discard=True))


def test_only_discard_goes_without_an_archive() -> None:
    assert Action.ARCHIVE not in actions(plan_down(RUNNING, has_image=True, discard=True))
    assert Action.ARCHIVE in actions(plan_down(DORMANT, has_image=True, discard=False))


def test_an_unfinished_restore_needs_no_second_archive() -> None:
    assert actions(plan_down(RESTORING, has_image=True, discard=False)) == [
        Action.CONTAINERS,
        Action.STATE,
    ]


def test_a_damaged_record_does_not_keep_work_from_being_archived() -> None:
    damaged = replace(DORMANT, record=None, problem=CspaceError("instance.json is damaged"))
    assert Action.ARCHIVE in actions(plan_down(damaged, has_image=True, discard=False))


def test_a_container_whose_workspace_is_gone_does_not_go_on_with_the_old_one() -> None:
    gone = replace(RUNNING, has_workspace=False)
    steps = actions(plan_up(gone, has_image=True, recreate=False))
    assert steps[-1] is Action.RECREATE
    assert Action.WORKSPACE in steps


def test_what_a_killed_call_was_stopping_is_stopped_before_it_starts() -> None:
    stopping = replace(RUNNING, stopping=True)
    steps = actions(plan_up(stopping, has_image=True, recreate=False))
    assert steps[-2:] == [Action.STOP, Action.START]


def test_what_runs_is_stopped_before_another_takes_its_place() -> None:
    assert actions(plan_up(RUNNING, has_image=True, recreate=True))[-2:] == [
        Action.STOP,
        Action.RECREATE,
    ]
    assert Action.STOP not in actions(plan_up(STOPPED, has_image=True, recreate=True))


def test_network_and_proxy_are_there_before_anything_starts() -> None:
    lacks = Lacks(network="it has none", proxy="it does not run")
    steps = plan_up(NOTHING, has_image=True, lacks=lacks)
    assert actions(steps)[-3:] == [Action.NETWORK, Action.EGRESS, Action.START]
    assert [step.cause for step in steps[-3:-1]] == ["it has none", "it does not run"]


def test_what_runs_gets_its_way_out_back_and_nothing_else() -> None:
    steps = plan_up(RUNNING, has_image=False, lacks=Lacks(proxy="it does not run"))
    assert actions(steps) == [Action.EGRESS]


def test_a_network_is_changed_while_no_container_runs_in_it() -> None:
    steps = plan_up(RUNNING, has_image=True, recreate=True, lacks=Lacks(network="firewall is on"))
    assert actions(steps)[-3:] == [Action.STOP, Action.NETWORK, Action.RECREATE]


def test_a_container_without_its_workspace_is_not_kept() -> None:
    assert keeps_container(STOPPED, recreate=False)
    assert not keeps_container(STOPPED, recreate=True)
    assert not keeps_container(replace(STOPPED, has_workspace=False), recreate=False)
    assert not keeps_container(DORMANT, recreate=False)


def test_the_proxy_goes_with_the_last_instance_and_after_it() -> None:
    steps = actions(plan_down(RUNNING, has_image=True, discard=False, is_last=True))
    assert steps[-2:] == [Action.STATE, Action.EGRESS]
