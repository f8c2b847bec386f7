"""Adds to the settings that one person has for one project, and keeps all else in them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cspace import files
from cspace.files import Owner
from cspace.hostnames import DOMAINS
from cspace.settings import trust
from cspace.settings.layers import LOCAL_FILE, read_project_bytes

LOCK_TIMEOUT_SECONDS = 10.0


def add_domain(user: Path, root: Path, owner: Owner, pattern: str, present: Iterable[str]) -> Path:
    """Add a pattern to `firewall.domains` of the local file, and return that file.

    Who adds it has seen it: where all else that the file asks for is trusted, this is too.

    Args:
        present: the patterns in force. A file's list replaces those of the files below it, so one
            that has none yet starts with these.

    Raises:
        UsageError: the file is no settings file.
        Conflict: another cspace is writing it.
    """
    files.ensure_directory(user, owner=owner, mode=0o700)
    with files.lock(
        user / ".local.lock", timeout=LOCK_TIMEOUT_SECONDS, holder="cspace net allow", owner=owner
    ):
        before = _find_request(user, root)
        document = json.loads(read_project_bytes(root, LOCAL_FILE) or b"{}")
        firewall = document.setdefault("firewall", {})
        firewall["domains"] = [*firewall.get("domains", present), pattern]
        text = json.dumps(document, indent=2, ensure_ascii=False)
        files.write_atomic(root / LOCAL_FILE, f"{text}\n", owner=owner)
        after = _find_request(user, root)
        known = before is None or before.trusted
        if after and known and _asks_besides(before) == _asks_besides(after):
            trust.approve(user, root, (after,))
    return root / LOCAL_FILE


def _find_request(user: Path, root: Path) -> trust.Request | None:
    """Find what the local file asks for; None where it asks for nothing."""
    path = str(root / LOCAL_FILE)
    return next((each for each in trust.list_requests(user, root) if each.path == path), None)


def _asks_besides(request: trust.Request | None) -> dict[str, Any]:
    asks = request.asks if request else ()
    return {ask.key: ask.value for ask in asks if ask.key != DOMAINS}
