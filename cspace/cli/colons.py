"""Completion of words with a colon in bash, which divides words there: `decisions:1a2b3c4`."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, MutableMapping, Sequence

import typer

_ASKED = {"_CSPACE_COMPLETE": "complete_bash"}


@contextlib.contextmanager
def whole_words(environ: MutableMapping[str, str]) -> Iterator[None]:
    """While bash asks for completions, have words whole that it divided, and answer what it lacks.

    Args:
        environ: bash's question, as Typer reads it in the block; is changed.
    """
    words, at = environ.get("COMP_WORDS", "").split("\n"), environ.get("COMP_CWORD", "")
    if not environ.items() >= _ASKED.items() or ":" not in words or not at.isdecimal():
        yield
        return
    whole = _join(words[: int(at) + 1])
    environ.update(COMP_WORDS="\n".join(whole), COMP_CWORD=str(len(whole) - 1))
    there = whole[-1].rpartition(":")
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            yield
    finally:
        for line in said.getvalue().splitlines():
            typer.echo(line.removeprefix("".join(there[:2])))


def _join(words: Sequence[str]) -> list[str]:
    whole: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if ":" in (before, word) and whole:
            whole[-1] += word
        else:
            whole.append(word)
    return whole
