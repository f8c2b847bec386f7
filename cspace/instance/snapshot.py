"""Packs and unpacks a workspace inside a container of ours: `python -m cspace.instance.snapshot`.

The one line on stdout is JSON: `{}`, or `message` and `hint` of the error whose exit code it ended
with. It begins when a line comes on stdin, and does nothing where that ends without one: it may be
started ahead of its time.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from cspace.errors import CspaceError
from cspace.instance.snapshot_pack import IGNORED_EACH, IGNORED_TOTAL, Request, pack
from cspace.instance.snapshot_unpack import unpack
from cspace.instance.work_pack import WorkRequest, pack_work
from cspace.instance.work_tree import LARGEST_FILE, LARGEST_PACK, LARGEST_TOTAL, Limits

# An agent goes on meanwhile and a person waits: far above what a large repository takes.
WORK_SECONDS = 900


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    arguments = _parser().parse_args(words)
    answer: dict[str, str | None] = {}
    code = 0
    try:
        if not sys.stdin.readline():
            raise CspaceError("nobody waits for it any more")
        arguments.command(arguments)
    except CspaceError as error:
        answer, code = {"message": str(error), "hint": error.hint}, error.exit_code
    sys.stdout.write(json.dumps(answer) + "\n")
    return code


def _pack(arguments: argparse.Namespace) -> None:
    known, shallow = _host(arguments)
    request = Request(
        known=known,
        shallow=shallow,
        object_format=arguments.object_format,
        at=arguments.at,
        opaque=arguments.opaque,
        ignored_each=arguments.ignored_each,
        ignored_total=arguments.ignored_total,
    )
    pack(arguments.workspace, arguments.output, request)


def _work(arguments: argparse.Namespace) -> None:
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(arguments.seconds)
    known, _ = _host(arguments)
    request = WorkRequest(
        known=known,
        object_format=arguments.object_format,
        committed=arguments.committed,
        limits=Limits(arguments.each, arguments.total, arguments.largest),
    )
    pack_work(arguments.workspace, arguments.output, request)


def _give_up(_: int, __: object) -> None:
    """End what waits: an agent can put a FIFO where we have looked already."""
    raise CspaceError("it took too long", hint="cspace stop NAME, then again")


def _unpack(arguments: argparse.Namespace) -> None:
    known, _ = _host(arguments)
    unpack(arguments.workspace, arguments.bundle, known)


def _host(arguments: argparse.Namespace) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the commits that are there already, and those at which the host's history is cut."""
    known, shallow = list(arguments.known), set[str]()
    if arguments.host is not None:
        for line in arguments.host.read_text(encoding="ascii").splitlines():
            word, _, one = line.partition(" ")
            known.append(one) if word == "known" else shallow.add(one)
    return tuple(known), frozenset(shallow)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cspace.instance.snapshot", allow_abbrev=False)
    commands = parser.add_subparsers(required=True)
    packing = commands.add_parser("pack", help="write OUTPUT/archive.bundle")
    packing.set_defaults(command=_pack)
    packing.add_argument("--at", type=int, default=0, help="seconds since 1970")
    packing.add_argument("--opaque", action="store_true", help="carry object stores as files")
    packing.add_argument("--ignored-each", type=int, default=IGNORED_EACH, help="bytes")
    packing.add_argument("--ignored-total", type=int, default=IGNORED_TOTAL, help="bytes")
    unpacking = commands.add_parser("unpack", help="make a workspace what a bundle says")
    unpacking.set_defaults(command=_unpack)
    unpacking.add_argument("--bundle", type=Path, required=True)
    working = commands.add_parser("work", help="write OUTPUT/work.json and OUTPUT/work.pack")
    working.set_defaults(command=_work)
    working.add_argument("--committed", action="store_true", help="without uncommitted files")
    working.add_argument("--each", type=int, default=LARGEST_FILE, help="bytes")
    working.add_argument("--total", type=int, default=LARGEST_TOTAL, help="bytes")
    working.add_argument("--largest", type=int, default=LARGEST_PACK, help="bytes of a pack")
    working.add_argument("--seconds", type=int, default=WORK_SECONDS, help="for the whole")
    for command in (packing, working):
        command.add_argument("--output", type=Path, required=True)
        command.add_argument("--object-format", choices=("sha1", "sha256"), default="sha1")
    for command in (packing, unpacking, working):
        command.add_argument("--workspace", type=Path, required=True)
        command.add_argument("--host", type=Path, help="a file of lines: known ID, shallow ID")
        command.add_argument("--known", nargs="*", default=(), metavar="ID")
    return parser


if __name__ == "__main__":
    sys.exit(main())
