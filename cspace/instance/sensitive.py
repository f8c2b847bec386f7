"""Which paths of an agent's branch do something on the host as soon as they are checked out there.

What a file system takes for one of them counts too: other cases and forms of the same letters,
signs that it ignores, short names.
"""

from __future__ import annotations

import re
import unicodedata

# In any directory: a person can start Claude Code or an editor below the top, too.
_NAMES = (
    ".claude",
    ".cspace.json",
    ".cspace.local.json",
    ".devcontainer",
    ".devcontainer.json",
    ".gitattributes",
    ".gitmodules",
    ".mcp.json",
    ".worktreeinclude",
)
_AGENTS = (".cspace", "agents")
# NTFS calls `.gitattributes` GITATT~1, too.
_SHORT = re.compile(r"([^~]{1,6})~\d+(?:\..{0,3})?")
_STEMS = frozenset(name.split(".")[1][:6] for name in (*_NAMES, ".cspace"))


def is_sensitive(path: bytes) -> bool:
    """Tell whether a person should look at a change of this path before it reaches the host."""
    parts = [_fold(part) for part in re.split(r"[/\\]", path.decode("utf-8", "replace"))]
    if any(part in _NAMES or _is_short(part) for part in parts):
        return True
    # `.cspace` itself as a file or a link would lead elsewhere as a whole.
    pairs = zip(parts, [*parts[1:], _AGENTS[1]], strict=True)
    return any(pair == _AGENTS for pair in pairs)


def _fold(part: str) -> str:
    """Return what a lenient file system takes a name for."""
    kept = "".join(char for char in part if unicodedata.category(char) != "Cf")
    # Twice: what is folded can have a simpler form that folds again.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", kept).casefold())
    return folded.casefold().partition(":")[0].rstrip(" .")


def _is_short(part: str) -> bool:
    found = _SHORT.fullmatch(part)
    return found is not None and found[1] in _STEMS
