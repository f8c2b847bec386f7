"""Days that mean another day tomorrow: "yesterday", "next week", "in two days", "gestern"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cspace.claude_memory.index import blank_code

_NUMBER = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|a couple of|a few"
    r"|several|some)"
)
_UNIT = r"(?:hour|day|night|week|weekend|fortnight|month|quarter|sprint|year)s?"
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_GERMAN = (
    r"(?:woche|monat|quartal|jahr|wochenende|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)"
)
_PATTERNS = (
    r"(?:the day (?:before )?)?yesterday",
    r"(?:the day after )?tomorrow",
    # "today's build" is a name for whatever is built on any day.
    r"today(?!['’]s)",
    r"tonight",
    r"this (?:morning|afternoon|evening|week|weekend|month|quarter|sprint|year)",
    rf"(?:last|next|coming|past) (?:{_UNIT}|{_DAY})",
    rf"this (?:coming )?{_DAY}",
    rf"{_NUMBER} (?:more )?{_UNIT} (?:ago|from now)",
    rf"in {_NUMBER} (?:more )?(?:day|week|month|quarter|sprint|year)s?",
    # German, which we are asked for.
    r"(?:vor)?gestern",
    r"übermorgen",
    r"heute",
    rf"(?:letzte|nächste|kommende|vergangene|diese)[nrsm]? {_GERMAN}",
    r"(?:vor|in) (?:\d{1,3}|einem|einer|zwei|drei|vier|fünf|sechs) (?:tag|woche|monat|jahr)e?n?",
)
_RELATIVE = re.compile(rf"(?<![\w-])(?:{'|'.join(_PATTERNS)})(?![\w-])", re.IGNORECASE)
# Where the day itself stands beside it, or the word is only spoken of.
_ABSOLUTE = re.compile(r"\b\d{4}-\d\d(?:-\d\d)?\b|\b\d{1,2}\.\d{1,2}\.\d{4}\b")
_QUOTED = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|„[^“\n]{1,200}“")


def iter_relative_dates(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that has one, from 1, and the words.

    Not in code and in quotes, and not in a line that has a date as well.
    """
    for number, line in enumerate(blank_code(text).split("\n"), start=1):
        found = _RELATIVE.search(_QUOTED.sub("", line))
        if found is not None and not _ABSOLUTE.search(line):
            yield number, found[0]
