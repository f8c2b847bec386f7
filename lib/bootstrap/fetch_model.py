"""Fetch the default model into the cache of the user who runs this; nothing where it is there."""

import os
import sys
from pathlib import Path

from cspace.errors import CspaceError
from cspace.events import Event, State
from cspace.index.embedder import DEFAULT_MODEL, fetch_model, models_directory


def report(event: Event) -> None:
    """Say what is fetched, and nothing of its progress."""
    if event.state is State.STARTED:
        sys.stderr.write(f"[model] {event.subject}: {event.detail}\n")


try:
    fetch_model(DEFAULT_MODEL, models_directory(Path.home(), os.environ), os.environ, report)
except CspaceError as error:
    sys.exit(f"error: {error}\nhint: {error.hint}")
