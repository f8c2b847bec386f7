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
    """Ask before something goes for good; errors as for `agree`."""
    agree(question, "nothing was removed", as_json=as_json)


def confirm_write(question: str, *, as_json: bool) -> None:
    """Ask before what was shown is written; errors as for `agree`."""
    agree(question, "nothing was written", as_json=as_json)


def agree(question: str, undone: str, *more: str, as_json: bool) -> None:
    """Ask before something is changed, and return when it may.

    Args:
        undone: what is so when it may not: nothing was written, removed …
        more: words that have to be in the command which is not asked about.

    Raises:
        UsageError: nobody can be asked: there is no terminal, or the output is for a script.
        CspaceError: the answer is no.
    """
    if as_json or not on_terminal():
        again = shlex.join(("cspace", *sys.argv[1:], *more, "--yes"))
        raise UsageError(f"{undone}: nobody is there to ask", hint=again)
    if not confirm(question):
        raise CspaceError(undone)
