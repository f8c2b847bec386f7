"""The YAML header of a document: read leniently, written so that no value can forge a line.

Every scalar is read as the text that stands there: `yes`, `2026-04-14` and `0x10` stay what their
author wrote, and no YAML tag builds anything.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cspace.errors import CspaceError

BOM = b"\xef\xbb\xbf"
# Above this it is not a header that a person wrote.
MAX_BYTES = 64 * 1024
# A list in a key is two. Some thousands overflow the stack of libyaml's composer, and end the
# process: no exception can be caught then.
MAX_DEPTH = 16

Value = str | datetime.date | datetime.datetime | tuple[str, ...]

_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n")
_CLOSING = re.compile(rb"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"^([A-Za-z0-9_][\w.-]*)[ \t]*:(?=[ \t\r\n]|\Z)", re.MULTILINE)
_CONTINUED = re.compile(rb"(?:[ \t]+[^\r\n]*\r?\n)*")

# What nearly every header is made of, and what YAML reads as it stands there: one line a key, with
# a text in quotes without escapes, a plain one without any sign of YAML, or a list of plain words.
_PLAIN = r"[^\W_](?:[\w./+()@',;!?%=–—…’“”-]|:(?=\w)| (?=[\w/+(–—“]))*"
_WORD = r"[^\W_][\w./+@-]*"
_VALUE = rf'(?:({_PLAIN})|"([\w !#-\[\]-~—–’“”…]*)"|\[((?:{_WORD}(?:, {_WORD})*)?)\])\n'
_SIMPLE = re.compile(rf"([a-z]+): {_VALUE}")
# What every reader takes for the text that it is, but for a few words: YAML need not be asked.
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[ _-][A-Za-z0-9]+)*")
_RESOLVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# A mapping of such values, one level down.
_PARENT = re.compile(r"([a-z]+):\n(?=  [a-z])")
_CHILD = re.compile(rf"  ([a-z]+(?:_[a-z]+)*): {_VALUE}")
# All that can open a collection or name one, but for the bracket, which is counted.
_MAY_NEST = re.compile(r"[*&{]|[-?]\s|^[ \t]|\r(?!\n)|[\x85\u2028\u2029]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A document's header.

    Attributes:
        start, end: where its lines stand in the document, fences excluded.
        body: where the text after the closing fence starts.
        values: what YAML makes of it; every scalar is a str.
    """

    start: int
    end: int
    body: int
    source: str
    values: Mapping[str, object]

    def text(self, key: str) -> str | None:
        """Return a scalar, None when the key is absent or holds something else."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def prose(self, key: str) -> str | None:
        """Return a scalar as its author meant it: in `title: Fix #12`, `#12` is no comment."""
        value = self.text(key)
        written = _written(self.source, key)
        # What starts with a quote is no plain text, even where its value starts with the same one.
        plain = written is not None and written[:1] not in {'"', "'"}
        if value is not None and written is not None and plain and written.startswith(value):
            return written
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list's scalars; `a, b` counts as a list too."""
        value = self.values.get(key)
        if isinstance(value, list):
            return tuple(item for item in value if isinstance(item, str) and item)
        if isinstance(value, str):
            return tuple(part for item in value.split(",") if (part := item.strip()))
        return ()


def parse_front_matter(document: bytes) -> FrontMatter:
    """Read a document's header; a document without one has an empty one.

    A header that is not YAML as a whole (an unquoted title with a colon) is read key by key.
    """
    start, end, body = find_front_matter(document)
    source = document[start:end].decode("utf-8", "replace")
    values = _load_simple(source)
    if values is None:
        values = _load(source)
    if values is None:
        values = _load_by_key(source)
    return FrontMatter(start, end, body, source, values)


def find_front_matter(document: bytes) -> tuple[int, int, int]:
    """Return where a header's lines start and end, and where the text after it starts.

    All three are where the text starts in a document without one.
    """
    opening = _OPENING.match(document)
    if opening is not None:
        closing = _CLOSING.search(document, opening.end(), opening.end() + MAX_BYTES)
        if closing is not None:
            return opening.end(), closing.start(), closing.end()
    start = len(BOM) if document.startswith(BOM) else 0
    return start, start, start


def is_whole(header: FrontMatter) -> bool:
    """Tell whether a header is YAML as a whole, as other readers want it."""
    return _load_simple(header.source) is not None or _load(header.source) is not None


def _load_simple(source: str) -> dict[str, object] | None:
    """Read a header in which YAML has nothing to decide, None for any other.

    A tenth of what YAML takes, which is most of the time of a list of many documents.
    """
    values: dict[str, object] = {}
    position = 0
    while position < len(source):
        parent = _PARENT.match(source, position)
        if parent is None:
            below, lines = values, [_SIMPLE.match(source, position)]
        else:
            below, lines = {}, list(_iter_children(source, parent.end()))
            values[parent[1]] = below
        for line in lines:
            if line is None:
                return None
            below[line[1]] = _simple_value(line)
            position = line.end()
        if not lines:
            return None
    return values


def _iter_children(source: str, position: int) -> Iterator[re.Match[str] | None]:
    while source.startswith(" ", position):
        line = _CHILD.match(source, position)
        yield line
        if line is None:
            return
        position = line.end()


def _simple_value(line: re.Match[str]) -> object:
    _, plain, quoted, words = line.groups()
    if words is not None:
        return words.split(", ") if words else []
    return plain if quoted is None else quoted


def _load(source: str) -> dict[str, object] | None:
    import yaml  # noqa: PLC0415  30 ms, and no header that we write needs it to be read

    try:
        if not _is_shallow(source):
            return None
        loaded = yaml.load(source, Loader=yaml.CBaseLoader)  # noqa: S506  builds only str, list, dict
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if loaded is None or loaded == "":
        return {}
    return loaded if isinstance(loaded, dict) else None


def _is_shallow(source: str) -> bool:
    """Tell whether a text can be composed: nothing is nested deeply, and nothing named twice.

    An alias is a few bytes that stand for many: comparing what they make can take for ever.
    """
    import yaml  # noqa: PLC0415  see _load

    # A bracket may open a list and a pair in it. Asking libyaml costs as much as composing.
    if source.count("[") < MAX_DEPTH // 2 and not _MAY_NEST.search(source):
        return True
    depth = 0
    for event in yaml.parse(source, Loader=yaml.CBaseLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH or isinstance(event, yaml.AliasEvent):
            return False
    return True


def _load_by_key(source: str) -> dict[str, object]:
    found: dict[str, object] = {}
    keys = list(_KEY.finditer(source))
    for key, following in itertools.zip_longest(keys, keys[1:]):
        chunk = source[key.start() : following.start() if following else len(source)]
        parsed = _load(chunk)
        found |= parsed if parsed is not None else {key[1]: _written(chunk, key[1]) or ""}
    return found


def _written(source: str, key: str) -> str | None:
    lines = _line_of(key).findall(source)
    return lines[-1].rstrip() if lines else None


@functools.lru_cache(maxsize=64)
def _line_of(key: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(key)}[ \t]*:[ \t]*([^\r\n]*)", re.MULTILINE)


def dump_front_matter(pairs: Iterable[tuple[str, Value]]) -> str:
    """Write a header with its fences, one line a key, in the order given.

    Whatever a text holds, YAML reads it back as that text.
    """
    return "".join(["---\n", *(f"{key}: {dump_value(value)}\n" for key, value in pairs), "---\n"])


def dump_value(value: Value) -> str:
    """Write one value on one line."""
    match value:
        case tuple():
            return f"[{', '.join(_dump_text(item, inside_list=True) for item in value)}]"
        case datetime.datetime():
            return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
        case datetime.date():
            return value.isoformat()
        case _:
            return _dump_text(value, inside_list=False)


def _dump_text(text: str, *, inside_list: bool) -> str:
    if _is_plain(text, inside_list=inside_list):
        return text
    # JSON strings are YAML, once the characters are escaped that YAML takes for line breaks.
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(mark if mark.isprintable() else _escaped(mark) for mark in quoted)


def _escaped(mark: str) -> str:
    return f"\\U{ord(mark):08x}"


def _is_plain(text: str, *, inside_list: bool) -> bool:
    if not text or not text.isprintable() or not text[0].isalnum() or text != text.strip():
        return False
    # Some readers take `?` and `:` for structure in a list wherever they stand.
    if inside_list and re.search(r"[,\[\]{}?:]", text):
        return False
    if _WORDS.fullmatch(text):
        return text.lower() not in _RESOLVED
    import yaml  # noqa: PLC0415  see _load

    try:
        # Other readers resolve types: what they would not read as this text gets quotes.
        return bool(yaml.load(f"- {text}\n", Loader=yaml.CSafeLoader) == [text])
    except (yaml.YAMLError, ValueError, AttributeError, KeyError):
        return False


def replace_value(document: bytes, key: str, value: str) -> bytes:
    """Return document with one value of its header replaced; every other byte stays.

    Raises:
        CspaceError: the header is written in a way that can not be changed safely.
    """
    before = parse_front_matter(document)
    header = document[before.start : before.end]
    line = f"{key}: {dump_value(value)}".encode()
    name = re.escape(key.encode())
    found = list(re.finditer(rb"^([\"']?)" + name + rb"\1[ \t]*:[^\r\n]*", header, re.M))
    if found:
        start, end = found[-1].span()
        ending = re.compile(rb"\r?\n").match(header, end)
        if ending is not None:
            # A value may go on in indented lines: they are part of what is replaced.
            continued = _CONTINUED.match(header, ending.end())
            if continued is not None and continued.group():
                end, line = continued.end(), line + ending.group()
        header = header[:start] + line + header[end:]
    else:
        header += line + (b"\r\n" if header.endswith(b"\r\n") else b"\n")
    changed = document[: before.start] + header + document[before.end :]
    _check_only_changed(before, parse_front_matter(changed), key, value)
    return changed


def _check_only_changed(before: FrontMatter, after: FrontMatter, key: str, value: str) -> None:
    if dict(after.values) != {**before.values, key: value}:
        raise CspaceError(
            f"the header's {key} can not be replaced safely",
            hint=f"write `{key}: {value}` into the file's front matter by hand",
        )
