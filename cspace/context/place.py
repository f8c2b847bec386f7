"""Where a project's context really lies."""

from __future__ import annotations

import os
from pathlib import Path

from cspace.paths import INSIDE


def store_root(root: Path) -> Path:
    """Return the root that really holds the context: beside the workspace, inside an instance.

    There `/workspace/.cspace/context` is a link, which the store would rightly refuse to follow.
    """
    store = Path(INSIDE.context_store)
    if root == Path(INSIDE.workspace) and os.path.ismount(store):
        return store.parent.parent
    return root
