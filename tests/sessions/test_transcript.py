"""What a transcript's end says: structured lines only, and never more than its end."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from cspace.sessions.store import load_moment
from cspace.sessions.transcript import TAIL_BYTES, Moment, Task, parse_moment
from tests.sessions.conftest import SLUG, Desk


def said(text: object, **more: object) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}} | more


def result(**parts: object) -> dict[str, Any]:
    content = [{"type": "tool_result", "content": "It went well."}]
    return said(content, toolUseResult=parts)


def learn(*lines: object) -> Moment:
    return parse_moment(json.dumps(line, separators=(",", ":")).encode() for line in lines)


def test_the_last_request_is_what_a_person_typed() -> None:
    blocks = [{"type": "text", "text": "Look"}, {"type": "image"}, {"type": "text", "text": "here"}]
    moment = learn(
        said("First"),
        said(blocks),
        result(stdout="x"),
        said("Meta", isMeta=True),
        said("A summary", isCompactSummary=True),
        said("A subagent's", isSidechain=True),
        said("<command-name>/compact</command-name>"),
        said("<local-command-stdout>Compacted</local-command-stdout>"),
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "No"}]}},
    )
    assert moment.request == "Look\nhere"


def test_where_it_is_out_of_sight_claude_codes_own_copy_counts() -> None:
    prompts = [{"type": "last-prompt", "lastPrompt": text} for text in ("older", "newer")]
    assert learn(*prompts).request == "newer"
    assert learn(said("typed"), *prompts).request == "typed"


def test_tasks_are_as_last_set() -> None:
    moment = learn(
        result(task={"id": "1", "subject": "Parse"}),
        result(task={"id": "2", "subject": "Test"}),
        result(success=True, taskId="1", statusChange={"from": "pending", "to": "completed"}),
        result(success=True, taskId="9", statusChange={"from": "pending", "to": "completed"}),
    )
    assert moment.tasks == {"1": Task("Parse", "completed"), "2": Task("Test", "pending")}
    todos = [{"content": "Only this", "status": "in_progress", "activeForm": "Doing"}, 3]
    listed = {"id": "4", "subject": "Listed", "status": "pending", "blockedBy": []}
    assert list(learn(result(newTodos=todos)).tasks.values()) == [Task("Only this", "in_progress")]
    assert learn(result(tasks=[listed])).tasks == {"4": Task("Listed", "pending")}


def test_files_are_those_that_were_edited_the_latest_first() -> None:
    names = ("a", "b", "a")
    edits = [result(filePath=f"/workspace/{name}", structuredPatch=[]) for name in names]
    read = result(type="text", file={"filePath": "/workspace/read"})
    failed = said([{"type": "tool_result"}], toolUseResult="Error: no such file /workspace/no")
    moment = learn(*edits, read, failed, result(notebook_path="/workspace/n.ipynb"))
    assert moment.files == ("/workspace/n.ipynb", "/workspace/a", "/workspace/b")


def test_titles_of_a_person_come_before_claude_codes() -> None:
    named = {"type": "custom-title", "customTitle": "Mine"}
    assert learn(named, {"type": "ai-title", "aiTitle": "Its"}).title == "Mine"


def test_lines_that_are_no_json_or_of_another_shape_say_nothing() -> None:
    odd = [
        *(b'{"type":"user"', b"[" * 100_000 + b'"type":"user"', b'\xff"type":"user"', b""),
        *(b'{"type":"user","message":3}', b'{"type":"user","message":{"content":[3,null]}}'),
        *(b'["\\"toolUseResult\\""]', b'{"type":"user","toolUseResult":{"tasks":[1,{"id":2}]}}'),
        b'{"type":"user","toolUseResult":{"filePath":3,"structuredPatch":4}}',
    ]
    assert parse_moment(odd) == Moment()


EDIT = b'{"type":"user","toolUseResult":{"filePath":"/%d","structuredPatch":[]}}'


@pytest.mark.parametrize("line", [EDIT, b"", b'"user"', b"%d"])
def test_a_transcript_of_nothing_but_short_lines_hazard_it_is_read_soon(line: bytes) -> None:
    count = TAIL_BYTES // (len(line) + 1)
    lines = [line % number if b"%" in line else line for number in range(count)]
    started = time.process_time()
    moment = parse_moment(lines)
    assert time.process_time() - started < 0.5
    assert len(moment.files) == (count if line == EDIT else 0)


def test_only_the_end_of_a_large_transcript_is_read(desk: Desk) -> None:
    path = desk.transcript("one", said("out of sight"), {"pad": "x" * TAIL_BYTES}, said("in sight"))
    assert load_moment(desk.place, SLUG, "one").request == "in sight"
    with path.open("ab") as file:
        file.write(b"x" * TAIL_BYTES)
    assert load_moment(desk.place, SLUG, "one") == Moment()
    os.truncate(path, 0)
    assert load_moment(desk.place, SLUG, "one") == Moment()
    assert load_moment(desk.place, SLUG, "gone") == Moment()
