"""Playbooks: an agent's first turn, with the project's direction and roadmap in it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePosixPath

from cspace import assets, beneath
from cspace.context.records import ROOT
from cspace.context.store import ContextStore
from cspace.errors import CspaceError

PLACEHOLDER = b"${STRATEGIC_CONTEXT_PREAMBLE}"
STRATEGIC = ("direction", "roadmap")
MISSING = b"(not written yet)"


class Playbook(StrEnum):
    """Whom a playbook is for."""

    COORDINATOR = "coordinator"
    IMPLEMENTER = "implementer"


def render_playbook(template: bytes, preamble: bytes) -> bytes:
    """Put a preamble in the place of every placeholder of a template.

    Both are bytes that nothing interprets: the template is split at the exact placeholder, once,
    so what the preamble holds stays as it is, a placeholder too.
    """
    return preamble.join(template.split(PLACEHOLDER))


def load_template(playbook: Playbook) -> bytes:
    """Return a playbook's own template; an implementer's ends with what to record."""
    own = _template(playbook.value)
    return own if playbook is Playbook.COORDINATOR else own + b"\n" + load_wrap_up()


def load_wrap_up() -> bytes:
    """Return what an implementer does before it ends."""
    return _template("wrap-up")


def load_preamble(store: ContextStore) -> bytes:
    """Return direction and roadmap as they stand, each below a line with its file's name.

    A file that is missing or can not be read is said in its place: a first turn without it is of
    more use than none.

    Raises:
        NotFound: the store's root is missing.
    """
    store.check_root()
    return b"\n\n".join(_document(store, name) for name in STRATEGIC)


def _document(store: ContextStore, name: str) -> bytes:
    path = ROOT / PurePosixPath(f"{name}.md")
    return b"<!-- %b -->\n%b" % (str(path).encode(), _content(store, path))


def _content(store: ContextStore, path: PurePosixPath) -> bytes:
    try:
        return beneath.read_file(store.root, path)
    except FileNotFoundError:
        return MISSING
    except CspaceError as error:
        return f"(not readable: {error})".encode()
    except OSError as error:
        return f"(not readable: {error.strerror})".encode()


def _template(name: str) -> bytes:
    return assets.template(f"playbooks/{name}.md").encode()
