"""Does one thing for several instances at once; the failure of one does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from cspace.errors import CspaceError, expected

Result = TypeVar("Result")
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """What came of one name: a result, or an expected error."""

    name: str
    result: Result | None
    error: CspaceError | None


def run_batch(names: Sequence[str], act: Callable[[str], Result]) -> tuple[Outcome[Result], ...]:
    """Act on every name, at most AT_ONCE at a time; outcomes come in the order of the names."""

    def attempt(name: str) -> Outcome[Result]:
        try:
            return Outcome(name, act(name), None)
        except (CspaceError, OSError) as error:
            return Outcome(name, None, expected(error))

    if len(names) == 1:
        return (attempt(names[0]),)
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        return tuple(pool.map(attempt, names))
