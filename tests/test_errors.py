"""The error tree and its exit codes, which scripts depend on."""

from __future__ import annotations

import inspect

import pytest

from cspace import errors
from cspace.errors import CspaceError

CODES = {
    "CspaceError": 1,
    "UsageError": 2,
    "NotFound": 3,
    "Conflict": 4,
    "CommandFailed": 5,
    "EngineUnavailable": 6,
    "PartialFailure": 7,
    "Diagnosed": 8,
}


def test_every_error_has_the_exit_code_that_is_documented() -> None:
    tree = {
        name: kind.exit_code
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, CspaceError)
    }
    assert tree == CODES


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_the_drawing_of_the_tree_names_every_error_with_its_code(name: str, code: int) -> None:
    drawing = (errors.__doc__ or "").splitlines()
    assert any(name in line and f"exit {code} " in line for line in drawing)


def test_an_error_carries_its_message_and_the_next_step() -> None:
    error = errors.NotFound("no instance mercury", hint="cspace up mercury")
    assert (str(error), error.hint) == ("no instance mercury", "cspace up mercury")
    assert errors.NotFound("no instance mercury").hint is None


def test_what_the_system_refuses_names_the_path() -> None:
    error = errors.expected(PermissionError(13, "Permission denied", "/etc/shadow"))
    assert str(error) == "/etc/shadow: Permission denied"
    assert errors.expected(error) is error
