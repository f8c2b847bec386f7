"""Shows what comes of several instances: as text, on a board, or as JSON documents, one a line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cspace.cli import render
from cspace.errors import CspaceError, EngineUnavailable, PartialFailure
from cspace.events import Event, State

if TYPE_CHECKING:
    from cspace.lifecycle.batch import Outcome

_NAMED = {
    State.STARTED: "phase",
    State.DONE: "phase",
    State.FAILED: "phase",
    State.NOTICE: "notice",
}


def show_batch(
    names: Sequence[str],
    act: Callable[[str], Any],
    describe: Callable[[Any], str],
    *,
    as_json: bool,
    before: Callable[[], object] = lambda: None,
) -> None:
    """Act on every name and show what came of each; one failure alone is raised as it is.

    Args:
        before: is called first, and may report too.

    Raises:
        EngineUnavailable: it was so for all of them.
        PartialFailure: some failed; each was shown.
    """
    from cspace.lifecycle.batch import run_batch  # noqa: PLC0415  threads, only here

    came: list[Outcome[Any]] = []
    try:
        with _following(names, as_json=as_json) as follow:

            def take(outcome: Outcome[Any]) -> None:
                came.append(outcome)
                follow(outcome)

            before()
            run_batch(names, act, on_outcome=take, on_interrupt=_say_interrupted)
    finally:
        came.sort(key=lambda outcome: names.index(outcome.name))
        _show_results(came, describe, as_json=as_json)
    _raise_failures(came)


@contextlib.contextmanager
def _following(
    names: Sequence[str], *, as_json: bool
) -> Iterator[Callable[[Outcome[Any]], object]]:
    """Show events for as long as the block lasts; give what shows an outcome as it comes."""
    from cspace.cli.board import Board, can_draw  # noqa: PLC0415  only what has several to show

    if as_json:
        with render.watching(_show_event):
            yield _show_outcome
    elif len(names) > 1 and can_draw():
        with Board(names) as board, render.watching(board.take, board.write):
            yield lambda outcome: board.end(outcome.name, failed=outcome.error is not None)
    else:
        yield lambda _: None


def _show_event(event: Event) -> bool:
    if event.state in _NAMED:
        _show_line(
            event=_NAMED[event.state],
            name=event.subject,
            phase=event.phase,
            state=event.state,
            detail=event.detail,
            seconds=event.seconds,
        )
    return False


def _show_outcome(outcome: Outcome[Any]) -> None:
    _show_line(event="result", name=outcome.name, instance=outcome.result, error=outcome.error)


def _show_line(**parts: Any) -> None:
    # The work goes on where nobody reads; the last line finds that out.
    with contextlib.suppress(OSError):
        render.show_json_line(**parts)


def _say_interrupted() -> None:
    render.note("interrupted: what has begun is given a moment to end; ^C again leaves at once")


def _show_results(
    outcomes: Sequence[Outcome[Any]], describe: Callable[[Any], str], *, as_json: bool
) -> None:
    done = [outcome.result for outcome in outcomes if outcome.error is None]
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if as_json:
        failures = [{"name": each.name, "error": each.error} for each in failed]
        render.show_json_line(event="end", instances=done, failed=failures)
    else:
        render.show_lines(map(describe, done))


def _raise_failures(outcomes: Sequence[Outcome[Any]]) -> None:
    """Say what failed, once for all that failed alike; a bug is raised after all others."""
    failed = {each.name: each.error for each in outcomes if each.error is not None}
    alike: dict[tuple[str, str | None], list[str]] = {}
    for name, error in failed.items():
        said = render.plain(error)
        alike.setdefault((said["message"], said["hint"]), []).append(name)
    lost = all(isinstance(error, EngineUnavailable) for error in failed.values())
    if failed and len(failed) == len(outcomes) and (len(failed) == 1 or lost):
        raise next(iter(failed.values()))
    for (message, hint), names in alike.items():
        render.note(f"{', '.join(names)}: {message}")
        if hint:
            render.note(f"hint: {hint}")
    for error in failed.values():
        if not isinstance(error, CspaceError):
            raise error
    if failed:
        raise PartialFailure(f"{len(failed)} of {len(outcomes)} failed: {', '.join(failed)}")
