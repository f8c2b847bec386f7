"""Claude Code's hooks in an instance, over starting the same Python there to do nothing.

Each from its start to its end, with an event on stdin as Claude Code gives it: a session that
starts where there are 10,000 memories, one that goes on with notes of 12,000 tokens, a compaction
at the end of a transcript of 50 MB. The commands are timed inside the container, so that
`docker exec` is in none of them. Then the host's hook, in a repository and with the same memories,
and the plugin's: counts at a start and the topics of a prompt, with 10,000 memories on commits.

    python -m bench.hooks [ROUNDS]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from bench.measure import Ratio, run, show
from bench.up import Site, make_site
from cspace.git import git
from cspace.git_import import find_place
from cspace.notes.catalog import Catalog
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.store import NotesStore
from cspace.paths import INSIDE
from cspace.sessions.sections import EMPTY, NAMES, replace_section

ROUNDS = 100
SLUG = f"{INSIDE.projects}/-workspace"
HOOK = [INSIDE.python, "-I", "-m", "cspace.hooks"]
MEMORIES = 10_000
NOTHING, START = "python -c pass", f"SessionStart, startup, {MEMORIES:,} memories"
HOST_NOTHING, HOST = "host: python -c pass", f"host: memory, {MEMORIES:,} memories"
NOTES_START = f"host: notes-start, {MEMORIES:,} memories on commits"
NOTES_PROMPT = "host: notes-prompt, the same"
PROMPT = {"session_id": "s", "prompt": "why did we choose RS256 for src/auth/tokens.py here?"}
RESUME, COMPACT = "SessionStart, resume with full notes", "PreCompact, transcript of 50 MB"
CLAIMED_SECONDS = 0.1


def event(session: str, **more: str) -> str:
    path = f"{SLUG}/{session}.jsonl"
    return json.dumps({"session_id": session, "transcript_path": path, **more})


def full_notes() -> str:
    notes = EMPTY
    for name in NAMES:
        notes = replace_section(notes, name, "word " * 950)
    return notes


def prepare(site: Site) -> None:
    """Bring an instance up and put a long session into it; remember much."""
    site.cspace("memory", "write", "first", "--scope", "global", "--body", "one", "--yes")
    remembered = site.home / ".cspace/memory/global"
    for number in range(1, MEMORIES):
        path = remembered / f"memory-{number}.md"
        path.write_text("---\nname: one\n---\ntext\n", encoding="utf-8")
    site.cspace("up", "mercury", "--no-attach")
    line = json.dumps({"type": "user", "message": {"content": "word " * 200}})
    grow = f"yes '{line}' | head -c 50000000 >long.jsonl"
    note = f"printf %s '{full_notes()}' >noted.md"
    site.cspace("exec", "mercury", "--", "sh", "-c", f"cd {SLUG} && {grow} && {note}")


def annotate(site: Site) -> None:
    """Put memories of many words on a fifth as many commits, and index them."""
    repository = site.repository
    stamp = "committer A <a@example.com> 1700000000 +0000\ndata 1\nx\n"
    stream = "".join(f"commit refs/heads/annotated\n{stamp}" for _ in range(MEMORIES // 5))
    git(repository, "fast-import", "--quiet", stdin=stream.encode())
    commits = git(repository, "rev-list", "refs/heads/annotated").text.split()
    words = [sha256(str(number).encode()).hexdigest()[:7] for number in range(4_000)]
    drafts = []
    for number in range(MEMORIES):
        text = [words[number * step % len(words)] for step in range(1, 121)]
        summary = "Chose RS256" if number % 1_000 == 0 else " ".join(text[:8])
        namespace = list(Namespace)[number % len(Namespace)]
        draft = Draft(namespace, f"{summary} {number}", " ".join(text), tags=(text[0],))
        drafts.append((draft, commits[number % len(commits)]))
    store = NotesStore(repository, find_place(repository))
    store.capture_all(drafts)
    Catalog(store).refresh()


def measure(site: Site, rounds: int) -> dict[str, list[float]]:
    subjects = {
        NOTHING: ([INSIDE.python, "-c", "pass"], ""),
        START: ([*HOOK, "session-start"], event("new", source="startup")),
        RESUME: ([*HOOK, "session-start"], event("noted", source="resume")),
        COMPACT: ([*HOOK, "pre-compact"], event("long", trigger="auto")),
    }
    program = (Path(__file__).parent / "hook_runs.py").read_text(encoding="utf-8")
    words = ("-c", program, str(rounds))
    said = site.cspace("exec", "mercury", "--", "python3", *words, json.dumps(subjects))
    on_host = {
        HOST_NOTHING: ([sys.executable, "-c", "pass"], ""),
        HOST: ([sys.executable, *HOOK[1:], "memory"], "{}"),
        NOTES_START: ([sys.executable, *HOOK[1:], "notes-start"], "{}"),
        NOTES_PROMPT: ([sys.executable, *HOOK[1:], "notes-prompt"], json.dumps(PROMPT)),
    }
    own = {"HOME": str(site.home)}
    more = run(sys.executable, *words, json.dumps(on_host), cwd=site.repository, env=own)
    times = json.loads(said) | json.loads(more)
    return {name: [seconds for seconds, _ in each] for name, each in times.items()}


def show_percentiles(times: Mapping[str, Sequence[float]]) -> None:
    for name, values in times.items():
        p95 = statistics.quantiles(values, n=20)[-1]
        verdict = "ok" if p95 <= CLAIMED_SECONDS else "ABOVE"
        claim = (
            ""
            if name in {NOTHING, HOST_NOTHING}
            else f"  (claimed ≤ {CLAIMED_SECONDS:g} s: {verdict})"
        )
        print(f"{name}: p50 {statistics.median(values):.4f} s, p95 {p95:.4f} s{claim}")


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="cspace-bench-") as directory:
        site = make_site(Path(directory))
        try:
            prepare(site)
            annotate(site)
            times = measure(site, rounds)
        finally:
            site.cspace("down", "--discard=mercury")
    ratios = [Ratio(name, NOTHING, 6) for name in (START, RESUME, COMPACT)]
    on_host = [Ratio(name, HOST_NOTHING, 9) for name in (HOST, NOTES_START, NOTES_PROMPT)]
    show(times, [*ratios, *on_host])
    show_percentiles(times)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
