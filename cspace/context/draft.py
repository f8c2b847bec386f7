"""The text that a person's editor opens where a record's texts were not given otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from cspace.context.records import LAYOUTS, UPDATES, Kind
from cspace.docstore.sections import Layout
from cspace.errors import UsageError


def render_draft(kind: Kind, title: str, texts: Mapping[str, str]) -> str:
    """Return a text with a heading for each section; texts, by field, are filled in."""
    filled = {name: texts.get(name.lower(), "") for name in _layout(kind).names}
    return f"{_head(kind, title)}\n{_layout(kind).render(filled)}"


def parse_draft(kind: Kind, title: str, text: str) -> dict[str, str]:
    """Return the texts by field, without empty lines around them.

    Raises:
        UsageError: a heading is gone, or a text stands above the first one.
    """
    body = _without(text, _head(kind, title)).lstrip()
    layout = _layout(kind)
    found = layout.parse(body)
    missing = [f"## {name}" for name in layout.names if name not in found]
    if missing:
        raise UsageError(f"the draft has no line {', '.join(missing)}", hint="keep the headings")
    if not body.startswith(f"## {layout.names[0]}"):
        raise UsageError(
            f"the draft has a text above ## {layout.names[0]}", hint="move it below a heading"
        )
    return {name.lower(): found[name].strip("\r\n") for name in layout.names}


def render_note_draft(title: str, status: str) -> str:
    """Return what the editor opens for a finding's next update."""
    return f"{_note_head(title, status)}\n"


def parse_note_draft(title: str, status: str, text: str) -> str:
    """Return the note without empty lines around it."""
    return _without(text, _note_head(title, status)).strip("\r\n")


def _layout(kind: Kind) -> Layout:
    # A history is not typed.
    return Layout(tuple(name for name in LAYOUTS[kind].names if name != UPDATES))


def _without(text: str, head: str) -> str:
    """Return text without our own first line, whatever line end and mark an editor gave it."""
    return text.removeprefix("\ufeff").removeprefix(head[:-1])


def _head(kind: Kind, title: str) -> str:
    return (
        f"<!-- {kind}: {_harmless(title)}. Write below the headings; leave them as they are. -->\n"
    )


def _note_head(title: str, status: str) -> str:
    return f"<!-- An update of: {_harmless(title)} ({_harmless(status)}). Write below. -->\n"


def _harmless(text: str) -> str:
    one_line = " ".join(text.split()).replace("--", "- -")
    return "".join(mark if mark.isprintable() else "?" for mark in one_line)
