"""One value below a key of a header, replaced without touching another byte."""

from __future__ import annotations

import re

from cspace.docstore.frontmatter import FrontMatter, Value, dump_value, parse_front_matter
from cspace.errors import CspaceError


def nested_text(header: FrontMatter, parent: str, key: str) -> str | None:
    """Return a text below a key that holds a mapping, None where there is none."""
    mapping = header.values.get(parent)
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else None


def replace_nested(document: bytes, parent: str, key: str, value: Value) -> bytes:
    """Return document with one value below parent replaced, or added; every other byte stays.

    Raises:
        CspaceError: the header is written in a way that can not be changed safely.
    """
    before = parse_front_matter(document)
    mapping = before.values.get(parent)
    others = mapping if isinstance(mapping, dict) else {}
    written = dump_value(value)
    # All that is no text is read back as what stands there.
    wanted = {
        **before.values,
        parent: {**others, key: value if isinstance(value, str) else written},
    }
    if parent not in before.values or mapping == "" or isinstance(mapping, dict):
        header = document[before.start : before.end]
        for changed in _candidates(header, parent, key, written):
            whole = document[: before.start] + changed + document[before.end :]
            after = parse_front_matter(whole)
            rest = len(document) - before.body
            if dict(after.values) == wanted and len(whole) - after.body == rest:
                return whole
    raise CspaceError(
        f"the header's {parent}.{key} can not be replaced safely",
        hint=f"write `{key}: {written}` below `{parent}:` in the file's front matter by hand",
    )


def _candidates(header: bytes, parent: str, key: str, value: str) -> tuple[bytes, ...]:
    """Return what the changed header may be, the likeliest first."""
    written = f"{key}: {value}".encode()
    name, below = re.escape(parent.encode()), re.escape(key.encode())
    block = re.search(
        rb"^([\"']?)"
        + name
        + rb"\1[ \t]*:[ \t]*(?:#[^\r\n]*)?\r?\n((?:[ \t]+[^\r\n]*(?:\r?\n|\Z))*)",
        header,
        re.MULTILINE,
    )
    if block is not None:
        return _in_block(header, block, below, written)
    flow = re.search(rb"^([\"']?)" + name + rb"\1[ \t]*:[ \t]*\{([^{}\r\n]*)\}", header, re.M)
    if flow is not None:
        return _in_flow(header, flow, below, written)
    ending = b"\r\n" if header.endswith(b"\r\n") else b"\n"
    return (header + parent.encode() + b":" + ending + b"  " + written + ending,)


def _in_block(
    header: bytes, block: re.Match[bytes], below: bytes, written: bytes
) -> tuple[bytes, ...]:
    lines, start = block[2], block.start(2)
    first = re.search(rb"^([ \t]+)[^ \t\r\n#]", lines, re.MULTILINE)
    indent = first[1] if first else b"  "
    own = re.compile(rb"^" + indent + rb"([\"']?)" + below + rb"\1[ \t]*:[^\r\n]*", re.MULTILINE)
    found = own.search(lines)
    if found is not None:
        rest = header[start + found.end() :]
        return (header[: start + found.start()] + indent + written + rest,)
    ending = b"\r\n" if block.group().endswith(b"\r\n") else b"\n"
    return (header[: block.end()] + indent + written + ending + header[block.end() :],)


def _in_flow(
    header: bytes, flow: re.Match[bytes], below: bytes, written: bytes
) -> tuple[bytes, ...]:
    inner, start = flow[2], flow.start(2)
    found = re.search(rb"(?:^|(?<=,))([ \t]*)([\"']?)" + below + rb"\2[ \t]*:[^,]*", inner)
    if found is not None:
        changed = inner[: found.start()] + found[1] + written + inner[found.end() :]
    elif inner.strip():
        changed = inner.rstrip() + b", " + written
    else:
        changed = written
    return (header[:start] + changed + header[flow.end(2) :],)
