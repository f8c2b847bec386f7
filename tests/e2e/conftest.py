"""The installed wheel, and people who use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import OUTSIDE, EngineAnswer
from tests.e2e.installed import build_wheel, install
from tests.e2e.person import Person, new_person, refusal_of
from tests.shared import run_directory, shared_directory

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
def program(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Build and install the wheel, once in a test run; return its cspace."""
    with shared_directory(run_directory(tmp_path_factory) / "installed", _install) as directory:
        yield directory / "environment" / "bin" / "cspace"


def _install(directory: Path) -> None:
    install(build_wheel(directory / "dist"), directory / "environment")


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
