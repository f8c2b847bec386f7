"""Quotes what others wrote for a model, so that none of it can stand outside of the quotation."""

from __future__ import annotations

import re

MARK = "|"
# A line that closes the frame Claude Code puts around what hooks say.
_FRAME = re.compile(r"<(?=/?\s*system-reminder)", re.IGNORECASE)
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def quote(text: str) -> str:
    """Begin each line with a mark; control and bidirectional characters are replaced."""
    clean = _UNFIT.sub("\N{REPLACEMENT CHARACTER}", _FRAME.sub("&lt;", text.replace("\r\n", "\n")))
    return "\n".join(f"{MARK} {line}".rstrip() for line in clean.splitlines())
