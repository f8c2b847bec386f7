"""Asks a person, where there is one."""

from __future__ import annotations

import shlex
import sys

import typer

from cspace.cli import render
from cspace.cli.inside import on_terminal
from cspace.errors import CspaceError, UsageError


def confirm(question: str) -> bool:
    """Ask on the terminal; only a yes is one.

    Raises:
        Abort: ^C, or the input ended.
    """
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        # What is said next begins a line of its own.
        render.note("")
        raise


def confirm_removal(question: str, *, as_json: bool) -> None:
    """Ask before something goes for good, and return when it may.

    Raises:
        UsageError: nobody can be asked: there is no terminal, or the output is for a script.
        CspaceError: the answer is no.
    """
    if as_json or not on_terminal():
        raise UsageError("nothing was removed: nobody is there to ask", hint=_with_yes())
    if not confirm(question):
        raise CspaceError("nothing was removed")


def confirm_write(question: str, *, as_json: bool) -> None:
    """Ask before something that was shown is written; errors as for `confirm_removal`."""
    if as_json or not on_terminal():
        raise UsageError("nothing was written: nobody is there to ask", hint=_with_yes())
    if not confirm(question):
        raise CspaceError("nothing was written")


def _with_yes() -> str:
    return shlex.join(("cspace", *sys.argv[1:], "--yes"))
