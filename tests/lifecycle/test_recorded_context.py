"""What a context held is recorded in git, and what was lost is named once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cspace import git
from cspace.context import history, recording, snapshots
from cspace.context.history import Action
from cspace.context.journal import NAME, FileJournal
from cspace.context.journal import Event as Written
from cspace.context.records import Discovery, Kind
from cspace.doctor.checks import check_history
from cspace.doctor.model import Patient
from cspace.engine.docker import DockerEngine
from cspace.errors import CspaceError
from cspace.events import ignore
from cspace.git_import import find_place
from cspace.lifecycle.recorded_context import Recorder
from cspace.lifecycle.shared_context import open_context
from cspace.project import find_project
from tests.conftest import Clock
from tests.lifecycle.brain import Brain

REF = snapshots.REF


def shown(root: Path, path: str) -> bytes:
    return git.git(root, "cat-file", "blob", f"{REF}:{path}").stdout


def changes(root: Path) -> list[tuple[str, str, str]]:
    found = snapshots.load_changes(root, snapshots.find_tip(root))
    return [(one.action.value, one.entry, one.instance or "") for one in found]


def test_a_recording_is_a_commit_with_the_bytes_of_every_record(brain: Brain) -> None:
    brain.decide("Cents")
    brain.find("Bug", "räksmörgås\r\n")
    assert brain.record() == []
    for path, content in brain.contents().items():
        assert shown(brain.root, f".cspace/context/{path}") == content
    assert git.git(brain.root, "status", "--porcelain").text == "?? .cspace/"
    assert git.git(brain.root, "fsck", "--strict").code == 0


def test_nothing_is_committed_where_nothing_changed(brain: Brain) -> None:
    brain.decide("Cents")
    brain.record()
    tip = snapshots.find_tip(brain.root)
    assert tip is not None
    brain.record()
    assert snapshots.find_tip(brain.root) == tip


def test_every_write_of_an_instance_is_in_the_history_with_its_name(brain: Brain) -> None:
    slug = brain.find("Bug")
    brain.append(slug, "one")
    brain.record()
    assert changes(brain.root) == [("written", f"findings/{slug}", "mercury")] * 2
    assert list(brain.journal.glob("*.jsonl")) == []
    versions = git.git(brain.root, "ls-tree", "--name-only", f"{REF}:versions").text
    assert len(versions.splitlines()) == 1


def test_a_wiped_record_is_named_once_by_the_next_host_command(brain: Brain) -> None:
    slug = brain.find("Bug")
    brain.wipe()
    (said,) = brain.record()
    assert said == (
        f"records of the context were lost; vanished: findings/{slug};"
        " see: cspace context restore --dry-run"
    )
    assert brain.record() == []
    assert brain.planned() == [("create", f"findings/{slug}")]


def test_a_human_file_that_went_back_is_named_with_what_puts_it_forward(brain: Brain) -> None:
    path = brain.root / ".cspace/context/direction.md"
    path.parent.mkdir(parents=True)
    for text in ("# One\n", "# Two\n"):
        path.write_text(text, encoding="utf-8")
        assert brain.record() == []
    path.write_text("# One\n", encoding="utf-8")
    [said] = brain.record()
    assert said.endswith("if nobody meant that: cspace context restore direction")
    assert brain.restore("direction").entries == ("direction",)
    assert path.read_text(encoding="utf-8") == "# Two\n"


def test_a_lost_name_hazard_begins_no_line_of_ours(brain: Brain) -> None:
    brain.find("Bug")
    path = brain.root / ".cspace/context/findings/a\nnote: b.md"
    path.write_bytes(b"x")
    brain.record()
    path.unlink()
    [said] = brain.record()
    assert "vanished: findings/a\\nnote: b;" in said


def test_ten_thousand_lost_names_hazard_are_one_short_line(brain: Brain) -> None:
    for number in range(20):
        brain.find(f"Bug {number}")
    brain.wipe()
    (said,) = brain.record()
    assert said.count("findings/") == 5
    assert "and 15 more" in said


def test_what_a_tool_removed_is_no_loss(brain: Brain) -> None:
    slug = brain.find("Bug")
    brain.record()
    brain.host.remove_entry(Kind.FINDING, slug)
    assert brain.record() == []
    assert changes(brain.root)[-1] == ("removed", f"findings/{slug}", "")
    assert brain.planned() == []


@pytest.mark.parametrize(
    "words", [("checkout", "--", "."), ("stash", "-u"), ("reset", "--hard")], ids=str
)
def test_a_checkout_on_the_host_hazard_takes_records_back_and_that_is_named(
    brain: Brain, words: tuple[str, ...]
) -> None:
    slug = brain.find("Bug")
    brain.record()
    brain.commit()
    brain.append(slug, "one")
    git.git(brain.root, *words)
    (said,) = brain.record()
    assert f"went back: findings/{slug}" in said
    assert brain.record() == []


def test_a_hand_edit_is_no_loss(brain: Brain) -> None:
    slug = brain.find("Bug")
    brain.record()
    path = brain.root / f".cspace/context/findings/{slug}.md"
    path.write_bytes(path.read_bytes().replace(b"Bug", b"Bug, edited"))
    assert brain.record() == []
    assert changes(brain.root)[-1] == ("found", f"findings/{slug}", "")


def test_an_edit_of_the_same_size_and_time_is_recorded(brain: Brain) -> None:
    slug = brain.decide("Cents")
    brain.record()
    path = brain.root / f".cspace/context/decisions/{slug}.md"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"Cents", b"Penny"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    brain.record()
    assert b"Penny" in shown(brain.root, f".cspace/context/decisions/{slug}.md")


def test_a_removed_directory_hazard_is_said_once_where_there_are_instances(brain: Brain) -> None:
    brain.find("Bug")
    brain.record()
    git.git(brain.root, "clean", "-fdxq")
    _, said = brain.record()
    assert said.startswith("removed or made anew in the context: findings;")
    assert said.endswith("cspace stop mercury && cspace start mercury")
    brain.restore()
    assert brain.record() == []


def test_doctor_names_what_vanished_since_the_last_recording(brain: Brain) -> None:
    slug = brain.find("Bug")
    brain.record()
    patient = Patient(DockerEngine(), find_project(brain.root), brain.user, {})
    assert check_history(patient) == ()
    brain.wipe()
    (found,) = check_history(patient)
    assert found.problem == f"'findings/{slug}' vanished"
    assert found.repair == f"cspace context restore findings/{slug}"
    assert len(brain.record()) == 1


def test_doctor_names_one_command_for_several_that_vanished(brain: Brain) -> None:
    brain.find("Bug")
    brain.decide("Cents")
    brain.record()
    brain.wipe()
    patient = Patient(DockerEngine(), find_project(brain.root), brain.user, {})
    found = check_history(patient)
    assert [one.repair for one in found] == ["cspace context restore"] * 2


@pytest.mark.parametrize("words", [(), ("--object-format=sha256",)], ids=["unborn", "sha256"])
def test_a_repository_without_a_commit_is_recorded(
    tmp_path: Path, home: Path, clock: Clock, words: tuple[str, ...]
) -> None:
    root = tmp_path / "new"
    git.git(tmp_path, "init", "--quiet", *words, root)
    brain = Brain(root, home / ".cspace", clock)
    slug = brain.find("Bug")
    brain.record()
    brain.wipe()
    assert brain.restore().entries == (f"findings/{slug}",)


def test_a_history_that_was_deleted_is_begun_anew(brain: Brain) -> None:
    slug = brain.find("Bug")
    path = brain.root / f".cspace/context/findings/{slug}.md"
    os.utime(path, (0, 0))
    brain.record()
    known = brain.root / ".git/cspace/context-known.json"
    trusted = known.read_text(encoding="utf-8").replace("[0, 0, 0, 0]", str(stamp_of(path)))
    known.write_text(trusted, encoding="utf-8")
    git.git(brain.root, "update-ref", "-d", REF)
    git.git(brain.root, "gc", "--quiet", "--prune=now")
    assert brain.record() == []
    assert shown(brain.root, f".cspace/context/findings/{slug}.md") == path.read_bytes()


def stamp_of(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def test_names_that_a_hand_gave_are_recorded_as_bytes(brain: Brain) -> None:
    place = brain.root / ".cspace/context/decisions"
    place.mkdir(parents=True)
    name = os.fsdecode(b'My "note"\\ \xff\n.md')
    (place / name).write_bytes(b"by hand\r\n")
    brain.record()
    brain.wipe()
    assert brain.restore().failed == ()
    assert (place / name).read_bytes() == b"by hand\r\n"


def test_hooks_filters_and_the_index_hazard_take_no_part(brain: Brain, tmp_path: Path) -> None:
    canary = tmp_path / "sung"
    for hook in ("reference-transaction", "pre-commit", "post-index-change", "post-commit"):
        path = brain.root / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch '{canary}'\n", encoding="utf-8")
        path.chmod(0o755)
    git.git(brain.root, "config", "filter.evil.clean", f"touch '{canary}'; cat")
    git.git(brain.root, "config", "core.autocrlf", "true")
    (brain.root / ".git/info/attributes").write_text("*.md filter=evil text\n", encoding="utf-8")
    brain.find("Bug", "crlf\r\n")
    index = (brain.root / ".git/index").read_bytes()
    brain.record()
    assert snapshots.find_tip(brain.root) is not None
    assert not canary.exists()
    assert (brain.root / ".git/index").read_bytes() == index


def test_links_and_specials_in_the_store_hazard_are_not_recorded(
    brain: Brain, tmp_path: Path
) -> None:
    slug = brain.find("Bug")
    secret = tmp_path / "secret"
    secret.write_text("private", encoding="utf-8")
    place = brain.root / ".cspace/context/findings"
    (place / "link.md").symlink_to(secret)
    os.mkfifo(place / "fifo.md")
    (place / "directory.md").mkdir()
    (place / "large.md").write_bytes(b"x" * (9 << 20))
    brain.record()
    listed = git.git(brain.root, "ls-tree", "-r", "--name-only", REF).text.splitlines()
    assert listed == [f".cspace/context/findings/{slug}.md", "changes.jsonl"]


WHOLE: dict[str, object] = {
    "time": "2026-04-14T10:00:00+00:00",
    "action": "written",
    "kind": "finding",
    "slug": "x",
    "content": "forged",
}
HOSTILE_LINES = (
    b"no json",
    json.dumps(WHOLE | {"slug": "../../../x"}).encode(),
    json.dumps(WHOLE | {"kind": "human", "slug": "direction"}).encode(),
    json.dumps(WHOLE | {"time": [1]}).encode(),
    json.dumps(WHOLE | {"time": "0001-01-01T00:00:00+23:59"}).encode(),
    json.dumps(WHOLE | {"content": "\ud800"}).encode(),
    json.dumps(WHOLE | {"content": 5}).encode(),
    b"[" * 100_000,
    b'{"slug": ' + b"9" * 10_000 + b"}",
    b'"' + b"x" * (100 << 20) + b'"',
)


def test_a_hostile_journal_hazard_is_counted_and_does_nothing(brain: Brain) -> None:
    slug = brain.find("Bug")
    with (brain.journal / NAME).open("ab") as journal:
        journal.writelines(line + b"\n" for line in HOSTILE_LINES)
    assert brain.record() == [f"lines of journals that are no records: {len(HOSTILE_LINES)}"]
    assert changes(brain.root) == [("written", f"findings/{slug}", "mercury")]


def test_an_instance_hazard_can_not_remove_write_in_the_future_or_forge_an_author(
    brain: Brain,
) -> None:
    slug = brain.find("Bug")
    said = {"time": "2026-04-14T11:00:00+00:00", "kind": "finding", "slug": slug}
    future = said | {"time": "2099-01-01T00:00:00+00:00", "slug": "later", "content": "x"}
    forged = {"action": "written", "author": "eve\x1b[2J\nSigned-off-by: ann"}
    with (brain.journal / NAME).open("a", encoding="utf-8") as journal:
        journal.write(json.dumps(said | {"action": "removed"}) + "\n")
        journal.write(json.dumps(future | forged) + "\n")
    brain.wipe()
    brain.record()
    found = snapshots.load_changes(brain.root, snapshots.find_tip(brain.root))
    later = next(one for one in found if one.entry == "findings/later")
    assert later.time <= brain.clock()
    assert later.author == "eve-2J-Signed-off-by- ann"
    assert ("create", f"findings/{slug}") in brain.planned()
    message = git.git(brain.root, "log", "--format=%B", REF).text
    assert "\nSigned-off-by" not in message
    assert "\x1b" not in message


@pytest.mark.parametrize("plant", ["link", "fifo", "directory"])
def test_a_special_file_for_a_journal_hazard_is_named_and_stops_no_teardown(
    brain: Brain, tmp_path: Path, plant: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("private\n", encoding="utf-8")
    for path in (brain.journal / NAME, brain.journal / "context-journal.lock"):
        if plant == "link":
            path.symlink_to(secret)
        elif plant == "fifo":
            os.mkfifo(path)
        else:
            path.mkdir()
    assert len(brain.record()) == 1
    brain.recorder.record_leaving("mercury")
    assert secret.read_text(encoding="utf-8") == "private\n"


def test_a_line_that_comes_while_the_journal_is_taken_survives(brain: Brain) -> None:
    slug = brain.find("Bug")
    with FileJournal(brain.journal).opened() as append:
        brain.record()
        before = brain.journal / NAME
        assert not before.exists()
        append(Written(brain.clock(), Action.WRITTEN, Kind.FINDING, "late", b"late\n"))
    brain.record()
    assert ("written", "findings/late", "mercury") in changes(brain.root)
    assert brain.planned() == [("create", "findings/late")]
    assert slug


def test_a_journal_that_can_not_be_taken_stops_a_teardown(brain: Brain) -> None:
    brain.find("Bug")
    (brain.root / ".git/cspace").write_text("in the way", encoding="utf-8")
    with pytest.raises(CspaceError, match="the records of mercury can not be taken"):
        brain.recorder.record_leaving("mercury")
    assert (brain.journal / NAME).stat().st_size


RECORDER = """
import sys
from datetime import datetime, UTC
from pathlib import Path
from cspace.events import ignore
from cspace.lifecycle.recorded_context import Recorder
from cspace.project import find_project
recorder = Recorder(find_project(Path(sys.argv[1])), Path(sys.argv[2]), lambda e: print(e.detail))
for _ in range(int(sys.argv[3])):
    recorder.record()
"""


def start_recorder(brain: Brain, times: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", RECORDER, brain.root, brain.user, str(times)],
        stdout=subprocess.PIPE,
    )


def test_concurrent_recordings_all_succeed_and_lose_nothing(
    brain: Brain, counts: Callable[[int, int], int]
) -> None:
    running = [start_recorder(brain, counts(5, 40)) for _ in range(4)]
    written = 0
    while any(one.poll() is None for one in running):
        brain.find("Bug")
        written += 1
    assert [one.communicate()[0] for one in running] == [b""] * 4
    assert [one.returncode for one in running] == [0] * 4
    brain.record()
    told = [one for one in set(changes(brain.root)) if one[0] == "written"]
    assert len(told) == written


def test_a_history_shown_beside_recordings_lacks_nothing(
    brain: Brain, counts: Callable[[int, int], int]
) -> None:
    running = [start_recorder(brain, counts(20, 200)) for _ in range(2)]
    slug, place = brain.find("Bug"), find_place(brain.root)
    written = 1
    while any(one.poll() is None for one in running):
        brain.append(slug, "more")
        written += 1
        seen = brain.recorder.preview(place).changes
        assert sum(one.action is Action.WRITTEN for one in set(seen)) == written
    assert [one.communicate()[0] for one in running] == [b""] * 2


def test_a_recording_beside_one_that_shares_no_lock_tries_again(brain: Brain) -> None:
    brain.find("Bug")
    place = find_place(brain.root)
    once = iter([None])

    def clock_that_records() -> datetime:
        for _ in once:  # in the middle of the other recording
            recording.record(brain.root, place, (), brain.clock)
            brain.clock.advance(seconds=1)
        return brain.clock()

    brain.find("Other")
    with recording.exclusive(place):
        outcome = recording.record(brain.root, place, (), clock_that_records)
    assert outcome.changes == 0
    assert len(changes(brain.root)) == 2


def test_kill_9_while_recording_loses_nothing_and_leaves_no_debris(
    brain: Brain, counts: Callable[[int, int], int]
) -> None:
    wanted = set()
    for number in range(counts(8, 100)):
        wanted |= {f"findings/{brain.find(f'Bug {number} {each}')}" for each in range(5)}
        process = start_recorder(brain, 1)
        with_delay = 0.15 + (number % 20) * 0.01
        try:
            process.wait(timeout=with_delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
        brain.wipe()
    brain.record()
    assert wanted == {entry for _, entry, _ in changes(brain.root)}
    assert len(brain.restore().entries) == len(wanted)
    left = sorted(path.name for path in (brain.root / ".git/cspace").iterdir())
    assert left == ["context-journal.lock", "context-known.json", "context.lock"]
    assert [path.name for path in brain.journal.parent.iterdir()] == ["journal"]
    assert git.git(brain.root, "fsck", "--strict").code == 0


def test_one_brain_hazard_a_linked_worktree_reads_and_writes_the_main_one_s(
    repo: Path, tmp_path: Path, home: Path
) -> None:
    linked = tmp_path / "linked"
    git.git(repo, "worktree", "add", "--quiet", linked)
    (linked / "below").mkdir()
    for place in (linked, linked / "below"):
        assert open_context(place, {}, ignore).root == repo
    assert open_context(repo, {}, ignore).root == repo
    assert open_context(linked, {"CSPACE_INSTANCE": "mercury"}, ignore).root == linked


def test_a_directory_without_git_has_a_store_and_no_journal(tmp_path: Path) -> None:
    store = open_context(tmp_path, {}, ignore)
    assert store.root == tmp_path
    assert store.journal is None


def test_the_host_s_server_journals_beside_the_repository(repo: Path, home: Path) -> None:
    store = open_context(repo, {}, ignore)
    assert not (repo / ".git/cspace").exists()
    store.log_discovery(Discovery("Seen", "f", "i"))
    assert (repo / ".git/cspace" / NAME).stat().st_size
    Recorder(find_project(repo), home / ".cspace", ignore).record()
    assert not (repo / ".git/cspace" / NAME).exists()
    recorded = history.by_entry(snapshots.load_changes(repo, snapshots.find_tip(repo)))
    (name,) = [entry for entry in recorded if entry.startswith("discoveries/")]
    assert timedelta(0) <= recorded[name][0].time - recorded[name][-1].time


def test_a_directory_that_was_removed_and_made_again_is_named_once(brain: Brain) -> None:
    brain.find("Bug")
    brain.journal.mkdir(parents=True, exist_ok=True)
    brain.record()
    place = brain.root / ".cspace/context/findings"
    moved = place.rename(brain.root / "findings")
    assert any("made anew in the context: findings;" in said for said in brain.record())
    moved.rename(place)
    assert brain.record() == []
