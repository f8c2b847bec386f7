"""What authors, other tools and attackers write: lines that look like structure, and any text."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from tests.conftest import OUTSIDE

SOAK = OUTSIDE.get("CSPACE_SOAK", "") not in {"", "0"}
NAMES = (
    *("Context", "Alternatives", "Decision", "Consequences"),
    *("Finding", "Impact", "Summary", "Details", "Updates", "updates", "SUMMARY", "Other"),
)
BREAKS = st.sampled_from(
    ["\n", "\n", "\n\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\n\r", ""]
)
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
ODD = st.sampled_from(
    ["\ufeff", "\xa0", "\u202e", "\u200f", "\u200b", "\t", "\x1b[2J", "\x7f", "💥"]
)


def examples(small: int, full: int) -> settings:
    """Return how many examples a property is tried on: full with CSPACE_SOAK."""
    return settings(max_examples=full if SOAK else small, deadline=None)


def _joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map("".join)


_INDENT = st.sampled_from(["", "", "", " ", "   ", "    ", "\t", "\\", "\\\\", " \\", "> ", "\xa0"])
_GAP = st.sampled_from([" ", " ", "  ", "\t", "", "\xa0"])
_TAIL = st.sampled_from(["", "", " ", "\t", " ##", "#", " x", "\xa0"])
_HEADING = _joined(
    _INDENT, st.sampled_from(["##", "##", "#", "###"]), _GAP, st.sampled_from(NAMES), _TAIL
)
_DASH = st.sampled_from([" — ", " — ", " – ", " - ", " -- ", "—", " "])
_UPDATE = _joined(
    _INDENT,
    st.sampled_from(["### ", "### ", "###", "#### ", "## "]),
    st.sampled_from(
        ["2026-04-14T10:30:00Z", "2026-04-14T10:30:00", "2026-99-99T00:00:00Z", "2026-04-14", ""]
    ),
    _DASH,
    st.sampled_from(["@boss", "@a — status: open", "boss", ""]),
    _DASH,
    st.sampled_from(["status: resolved", "status:wontfix", "Status: open", "status: "]),
    _TAIL,
)
_OTHER = st.sampled_from(
    [
        *("---", "--- ", "...", "===", "```", "~~~~", "```python", "<!--", "-->", "", "\\", "  "),
        *("status: resolved", "title: forged", "tags: [x]", "? a", "- a", "%YAML 1.2", "# c"),
        *('"', '"\\', "'", "''", "a: b", "a #b", "&a", "*a", "!!binary x", "|", ">", "yes", "~"),
        *("0x10", "2026-04-14", "1:30", "[a", "{a", "a]", ", ", "@a", "`a", "%a", "\x1a"),
    ]
)
LINES = _HEADING | _UPDATE | _OTHER
TEXTS = st.lists(st.tuples(LINES | ODD | st.text(CHARACTERS, max_size=8), BREAKS), max_size=8).map(
    lambda parts: "".join(line + end for line, end in parts)
) | st.text(CHARACTERS)
# What a required field takes.
SAID = TEXTS.filter(lambda text: bool(text.strip()))
SHORT = SAID.filter(lambda text: len(text) <= 300)
AUTHORS = st.text(st.sampled_from("aZé0 .+@'()/-"), max_size=8).map(lambda rest: f"x{rest}x")

_LINE_BYTES = LINES.map(str.encode) | st.binary(max_size=12)
_END = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b""])
_KEYS = st.sampled_from(
    [
        *(b"title: It's: broken", b"title: 'It''s'", b'title: "a \\"b\\""', b"title: Fix #1"),
        *(
            b"tags: a, b",
            b"tags: [a, b]",
            b"tags:\n  - a\n  - b",
            b"date: 2026-01-02",
            b"owner: me",
        ),
        *(b"status: open", b"status:   OPEN # c", b"status:\n  open", b"status: |\n  open\n\n  x"),
        *(b'"status": open', b"status : open", b"status:", b"status: [open]", b"statuses: 1"),
        *(b"# comment", b"", b"nested:\n  status: inner\n  a: [1, {b: c}]", b"status: &a open"),
        *(b"kind: finding", b"category: bug", b"\ttab: x", b"no key", b"a: {", b"note: |\n  ---"),
    ]
)


def _lines(line: st.SearchStrategy[bytes], most: int) -> st.SearchStrategy[bytes]:
    return st.lists(st.tuples(line, _END), max_size=most).map(
        lambda parts: b"".join(one + end for one, end in parts)
    )


# Files that somebody else wrote, of bytes.
FOREIGN = st.tuples(
    st.sampled_from([b"", b"", b"\xef\xbb\xbf"]),
    st.sampled_from([b"---\n", b"---\n", b"---\r\n", b"--- \n", b"", b"----\n"]),
    st.lists(st.tuples(_KEYS, st.sampled_from([b"\n", b"\n", b"\r\n"])), max_size=6).map(
        lambda parts: b"".join(key + end for key, end in parts)
    )
    | _lines(_LINE_BYTES, 4),
    st.sampled_from([b"---\n", b"---\n", b"---\r\n", b"...\n", b"---", b""]),
    _lines(_LINE_BYTES, 10),
).map(b"".join)
