"""The installed wheel, and people who use it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import OUTSIDE, EngineAnswer
from tests.e2e.installed import build_wheel, install
from tests.e2e.person import Person, new_person, refusal_of

NewPerson = Callable[..., AbstractContextManager[Person]]


@pytest.fixture(scope="session")
def engine(engine_answer: EngineAnswer) -> str:
    """Return where the engine is; skip without one, but fail in CI."""
    if engine_answer.refusal and OUTSIDE.get("CI"):
        pytest.fail(f"CI needs a Docker engine: {engine_answer.refusal}")
    if engine_answer.refusal:
        pytest.skip(engine_answer.refusal)
    return engine_answer.host


@pytest.fixture(scope="session")
def program(engine: str) -> Iterator[Path]:
    """Build and install the wheel; return its cspace."""
    with tempfile.TemporaryDirectory(prefix="cspace-e2e-") as directory:
        # Another user must be able to run it.
        Path(directory).chmod(0o755)
        wheel = build_wheel(Path(directory) / "dist")
        yield install(wheel, Path(directory) / "environment")


@pytest.fixture(scope="session")
def new(program: Path, engine: str) -> NewPerson:
    """Return what makes a person, for as long as a `with` block lasts."""
    return partial(new_person, program, engine)


@pytest.fixture
def person(new: NewPerson) -> Iterator[Person]:
    """Return a person with a repository of one commit, and no instance yet."""
    with new() as one:
        yield one


@pytest.fixture
def become(new: NewPerson, program: Path, engine: str) -> Iterator[Callable[[int], Person]]:
    """Return what makes a person of a uid; skips with the reason where that is impossible."""
    with ExitStack() as stack:

        def make(uid: int) -> Person:
            reason = refusal_of(program, engine)
            if reason:
                pytest.skip(reason)
            return stack.enter_context(new(uid=uid))

        yield make
