"""Asks the real Claude Code where its memory lies and what it loads of it; asks cspace the same.

Runs inside a container of the image, beside scripted_model.py. Prints JSON: for each case what the
prompt said, what was made, and what cspace says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cspace.claude_memory.host_place import find_host_place
from cspace.claude_memory.index import parse_index
from tests.scripted_model import ScriptedModel

ROOT = Path(tempfile.mkdtemp(prefix="m"))
LONG = 193 - len(str(ROOT))
PLACE = re.compile(r"memory at `([^`]*)`")
WARNING = re.compile(r"WARNING: MEMORY\.md is (\S+)(?: lines)? \(")


@dataclass
class Case:
    """One start of Claude Code, in a home of its own."""

    name: str
    start: str
    user: object = None
    project: dict[str, object] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    index: str | None = None


def git(*words: str | Path, at: Path) -> None:
    known = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *known, *map(str, words)], cwd=at, check=True, capture_output=True)


def directories() -> list[Case]:
    """Make hostile directories and odd repositories."""
    marks = (
        "a b/A.b_c-d/ünï u\u0308 e\u0301/日本語/tab\t\n\"'$HOME*%41/-x/a\u202eb/😀 \u200d👩\u200d🚀"
    )
    plain = [marks, *("x" * (LONG + more) for more in (6, 7)), "😀" * 60 + "/" + "😀" * 50]
    for name in plain:
        (ROOT / name).mkdir(parents=True, exist_ok=True)
    made = ROOT / "re.po"
    (made / "sub/deep").mkdir(parents=True)
    git("init", "--quiet", at=made)
    git("commit", "--quiet", "--allow-empty", "-m", "x", at=made)
    git("worktree", "add", "--quiet", ROOT / "work_tree", at=made)
    git("worktree", "add", "--quiet", made / ".trees/inner", at=made)
    git("clone", "--quiet", "--bare", made, ROOT / "bare.git", at=ROOT)
    git("worktree", "add", "--quiet", ROOT / "of_bare", at=ROOT / "bare.git")
    git("submodule", "--quiet", "add", made, "module", at=made)
    (ROOT / "apart").mkdir()
    git("init", "--quiet", f"--separate-git-dir={ROOT}/apart.git", at=ROOT / "apart")
    (ROOT / "link").symlink_to(made)
    for name in ("work_tree/in", "empty/.git", "empty/sub", "planted"):
        (ROOT / name).mkdir(parents=True)
    (ROOT / "planted/.git").write_text(f"gitdir: {made}/.git/worktrees/work_tree\n")
    odd = [
        *("re.po/sub/deep", "work_tree/in", "bare.git", "of_bare", "re.po/module", "link/sub"),
        *("apart", "planted"),
        # These only where there is time.
        *("re.po", "re.po/", "re.po/.git", "re.po/.trees/inner", "work_tree", "link", "empty/sub"),
    ]
    return [Case(name, f"{ROOT}/{name}") for name in (*plain, *odd)]


def named(directory: object, **more: object) -> Case:
    return Case(f"dir {directory!r} {more}", start("d"), {"autoMemoryDirectory": directory, **more})


def start(name: str) -> str:
    (ROOT / name).mkdir(exist_ok=True)
    return str(ROOT / name)


def choices() -> list[Case]:
    """Return what settings and variables say, in every way that a person may write it."""
    override = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
    disable, simple = "CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_SIMPLE"
    off, on = {"autoMemoryEnabled": False}, {"autoMemoryEnabled": True}
    known = {"autoMemoryDirectory": "/tmp/am"}
    here = start("d")
    values = ("~/../x", "m", "/tmp/am", "/tmp/am/", "~", "~/", "~/..", "~/a/..", "~/.x", "~//m")
    more = ("~root/m", "./m", "/tmp/x/../y", "/", "/a", "/ab", "", " /tmp/am", "//tmp//x")
    odd = (3, None, ["/tmp/am"], "/tmp/a\nb", "$HOME/m", "~/e\u0301")
    texts = (
        '{"autoMemoryDirectory":"/tmp/am"',
        "",
        "[]",
        '\ufeff{"autoMemoryDirectory":"/tmp/am"}',
    )
    return [
        Case("local wins on", start("p4"), off, {"settings.json": off, "settings.local.json": on}),
        Case("its override", here, {"env": {override: "/tmp/ovs"}}, {}, {override: "/tmp/ov"}),
        Case("off beats the override", here, off, environment={override: "/tmp/ov"}),
        Case("0 wins over the file", here, off, environment={disable: "0"}),
        Case("simple wins over 0", here, environment={disable: " 0 ", simple: " On "}),
        *map(named, values),
        *map(named, more),
        *map(named, odd),
        *(named(1, autoMemoryEnabled=False), named("m", autoMemoryEnabled=False)),
        *(Case(f"text {text!r}", here, text) for text in texts),
        *(
            Case(f"override {value!r}", here, known, environment={override: value})
            for value in ("/tmp/ov", "~/ov", "ov", "", "/", "/tmp/a/../ov")
        ),
        *(
            Case(f"{name}={value!r}", here, known, environment={name: value})
            for name in (disable, simple)
            for value in ("1", "TRUE", "0", "2", "")
        ),
        Case("the file's variables", here, {"env": {disable: 1}}),
        Case("a directory of settings", here, environment={"CLAUDE_CONFIG_DIR": "/tmp/e\u0301"}),
        Case("a project says off", start("p1"), None, {"settings.json": off}),
        Case("a project says on", start("p2"), off, {"settings.json": on}),
        Case("local wins", start("p3"), None, {"settings.json": on, "settings.local.json": off}),
        Case("project env", start("p5"), None, {"settings.json": {"env": {disable: "1"}}}),
        Case("project override", start("p6"), None, {"settings.json": {"env": {override: "/ev"}}}),
    ]  # fmt: skip


def planted() -> list[Case]:
    """Return a repository that wants its users' memories somewhere else."""
    return [
        Case("planted", start("p7"), None, {"settings.json": {"autoMemoryDirectory": "/tmp/evil"}})
    ]


def lines(count: int, text: str = "") -> str:
    return "".join(f"- LINE{text}\n" for _ in range(count))


def indexes() -> list[Case]:
    """Return indexes that are just short enough, or just too long, as Claude Code counts."""
    half = lines(100)
    comments = (
        "<!-- a\n\nb -->\n",
        "<!-- a -->\n",
        "<!-- a\n b --> LINE\n",
        "- x\n  <!-- a\nb -->\n",
    )
    texts = [
        *(f"\ufeff---\nname: [x\n---\n\n{lines(200)}\n\n", "😀" * 12_501),
        *(half + "".join(comments) + lines(n) for n in (95, 96)),
        # These only where there is time.
        *(lines(200), lines(201), lines(200).replace("\n", "\r\n"), "<!-- a -->", " \n"),
        *(f"---\nname: x\n...\n{lines(199)}", f"---\nname: x\n{lines(199)}"),
        *(half + comment + lines(n) for comment in comments for n in (99, 100)),
        *(half + "<!-- a\n" + half, half + "```\n<!-- a\n-->\n```\n" + lines(97)),
        *("x" * 25_000 + "\n", "x" * 25_001, lines(199, "x" * 119), "é" * 25_000, "é" * 25_001),
        "😀" * 12_500,
    ]
    return [
        Case(f"index {at}", start("i"), index=text, user={"autoMemoryDirectory": "~/memory"})
        for at, text in enumerate(texts)
    ]


def prepare(case: Case, home: Path) -> dict[str, str]:
    (home / ".claude").mkdir()
    if case.user is not None:
        text = case.user if isinstance(case.user, str) else json.dumps(case.user)
        (home / ".claude/settings.json").write_text(text)
    for name, document in case.project.items():
        file = Path(case.start) / ".claude" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(document))
    if case.index is not None:
        (home / "memory").mkdir()
        (home / "memory/MEMORY.md").write_text(case.index, newline="")
    return {"HOME": str(home), **case.environment}


def prompt_of(requests: list[dict[str, Any]]) -> str:
    """Return all texts of the first request."""
    blocks = [requests[0]["system"], *(one["content"] for one in requests[0]["messages"])]
    texts = [[{"text": one}] if isinstance(one, str) else one for one in blocks]
    return "\n".join(block.get("text", "") for block_list in texts for block in block_list)


def examine(case: Case) -> dict[str, object]:
    home = Path(tempfile.mkdtemp(prefix="home"))
    environment = prepare(case, home)
    found = find_host_place(Path(case.start).resolve(), home, environment)
    model = ScriptedModel([[{"text": "Done."}]])
    threading.Thread(target=model.serve_forever, daemon=True).start()
    mine = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "scripted",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "PATH": os.environ["PATH"],
        "PWD": case.start,
    }
    done = subprocess.run(
        ["claude", "-p", "Go on.", "--dangerously-skip-permissions"],
        cwd=case.start, env=mine | environment, stdin=subprocess.DEVNULL, capture_output=True,
        check=False, timeout=120,
    )  # fmt: skip
    model.shutdown()
    if not model.requests:
        return {"name": case.name, "theirs": f"code {done.returncode}: {os.fsdecode(done.stderr)}"}
    prompt = prompt_of(model.requests)
    place = PLACE.search(prompt)
    report: dict[str, object] = {
        "name": case.name,
        "theirs": place[1].rstrip("/") if place else None,
        "made": bool(place and Path(place[1]).is_dir()),
        "ours": None if found.off else str(found.directory),
        "notes": found.notes,
    }
    if case.index is not None:
        warned = WARNING.search(prompt)
        index = parse_index(case.index.encode())
        size = f"{index.characters / 1024:.1f}KB"
        report |= {
            "theirs": warned[1] if warned else "fits",
            "ours": "fits" if index.fits else str(index.lines) if index.lines > 200 else size,
        }
    return report


GROUPS: dict[str, Callable[[], list[Case]]] = {
    "directories": directories,
    "choices": choices,
    "indexes": indexes,
    "planted": planted,
    # The administrator's settings are the whole machine's, so they are written before.
    "managed": lambda: [
        named("/tmp/am"),
        Case("override", start("d"), environment={"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE": "/tmp/ov"}),
    ],
}


def main(*groups: str) -> None:
    """Examine the first cases of each group: `choices:8`."""
    cases = []
    for group, _, most in (group.partition(":") for group in groups):
        cases += GROUPS[group]()[: int(most)]
    with ThreadPoolExecutor(4) as pool:
        print(json.dumps(list(pool.map(examine, cases))))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
