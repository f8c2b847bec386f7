"""After any accident one command brings every record back, and overwrites nothing newer."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from cspace import assets, git
from cspace.context.history import Action
from cspace.context.journal import Event, FileJournal
from cspace.context.records import Kind
from cspace.errors import NotFound, UsageError
from cspace.lifecycle import context_restore
from cspace.lifecycle.context_restore import parse_moment
from tests.lifecycle.brain import Brain


def fill(brain: Brain) -> dict[str, bytes]:
    """Log records of several versions; return them as they are at last."""
    slugs = [brain.find(f"Bug {number}") for number in range(3)]
    brain.decide("Cents")
    brain.append(slugs[0], "looked at it", "acknowledged")
    brain.append(slugs[0], "done\n\n", "resolved")
    return brain.contents()


@pytest.mark.parametrize("recorded", [True, False])
def test_rm_rf_hazard_every_record_comes_back_byte_for_byte(
    brain: Brain, *, recorded: bool
) -> None:
    before = fill(brain)
    if recorded:
        brain.record()
    brain.wipe()
    done = brain.restore()
    assert brain.contents() == before
    assert len(done.entries) == len(before)
    assert brain.restore().entries == ()


def test_git_clean_hazard_on_the_host_every_record_comes_back(brain: Brain) -> None:
    before = fill(brain)
    git.git(brain.root, "clean", "-fdxq")
    assert not (brain.root / ".cspace").exists()
    assert brain.restore().failed == ()
    assert brain.contents() == before


def test_stash_and_checkout_hazard_overwrite_nothing_newer(brain: Brain) -> None:
    slug, decision = brain.find("Bug"), brain.decide("Cents")
    brain.commit()
    brain.append(slug, "one", "acknowledged")
    other = brain.find("Other")
    before = brain.contents()
    git.git(brain.root, "stash", "--quiet", "--include-untracked")
    brain.record()
    brain.append(slug, "two", "resolved")
    new = brain.find("New")
    newer = brain.contents()
    assert brain.planned() == [("update", f"findings/{slug}"), ("create", f"findings/{other}")]
    brain.restore()
    after = brain.contents()
    assert after[f"findings/{other}.md"] == before[f"findings/{other}.md"]
    assert after[f"findings/{new}.md"] == newer[f"findings/{new}.md"]
    assert after[f"decisions/{decision}.md"] == before[f"decisions/{decision}.md"]
    entry = brain.host.read_entry(Kind.FINDING, slug)
    assert [update.note for update in entry.updates] == ["filed", "one", "two"]
    assert entry.info.status == "resolved"
    assert brain.planned() == []


def test_a_finding_that_lost_its_newest_update_gets_its_status_back(brain: Brain) -> None:
    slug = brain.find("Bug")
    brain.commit()
    brain.append(slug, "fixed", "resolved")
    before = brain.contents()
    git.git(brain.root, "checkout", "--quiet", "--", ".")
    brain.restore()
    assert brain.contents() == before


def test_a_decision_that_went_back_is_replaced_by_its_newest_version(brain: Brain) -> None:
    slug = brain.decide("Cents")
    brain.commit()
    path = brain.root / f".cspace/context/decisions/{slug}.md"
    path.write_bytes(path.read_bytes() + b"\nEdited by hand.\n")
    brain.record()
    git.git(brain.root, "checkout", "--quiet", "--", ".")
    assert brain.planned() == [("replace", f"decisions/{slug}")]
    brain.restore()
    assert path.read_bytes().endswith(b"\nEdited by hand.\n")


def test_an_edit_that_was_never_recorded_is_newer_and_stays(brain: Brain) -> None:
    slug = brain.decide("Cents")
    brain.record()
    path = brain.root / f".cspace/context/decisions/{slug}.md"
    path.write_bytes(path.read_bytes() + b"\nEdited by hand.\n")
    assert brain.restore().entries == ()
    assert path.read_bytes().endswith(b"\nEdited by hand.\n")


def test_two_records_of_one_name_hazard_are_both_there_at_last(brain: Brain) -> None:
    slug = brain.decide("Cents", "first")
    first = brain.contents()[f"decisions/{slug}.md"]
    brain.wipe()
    assert brain.decide("Cents", "second") == slug
    second = brain.contents()[f"decisions/{slug}.md"]
    assert brain.restore().entries == (f"decisions/{slug}-2",)
    assert brain.contents() == {
        f"decisions/{slug}.md": second,
        f"decisions/{slug}-2.md": first,
    }
    assert brain.restore().entries == ()


def test_an_instance_hazard_can_not_take_newer_versions_back(brain: Brain) -> None:
    slug = brain.find("Bug")
    old = brain.contents()[f"findings/{slug}.md"]
    brain.append(slug, "one")
    newest = brain.contents()
    brain.clock.advance(seconds=1)
    with FileJournal(brain.journal).opened() as append:
        append(Event(brain.clock(), Action.WRITTEN, Kind.FINDING, slug, old))
    brain.wipe()
    brain.restore()
    assert brain.contents() == newest


def test_what_was_removed_on_purpose_comes_back_only_by_its_name(brain: Brain) -> None:
    slug = brain.find("Bug")
    before = brain.contents()
    brain.clock.advance(seconds=1)
    brain.host.remove_entry(Kind.FINDING, slug)
    assert brain.restore().entries == ()
    assert brain.restore(slug).entries == (f"findings/{slug}",)
    assert brain.contents() == before


@pytest.mark.parametrize("recorded", [True, False])
def test_a_record_that_was_emptied_comes_back_byte_for_byte(
    brain: Brain, *, recorded: bool
) -> None:
    before = fill(brain)
    brain.record()
    for path in before:
        (brain.root / ".cspace/context" / path).write_bytes(b" \n")
    if recorded:
        (said,) = brain.record()
        assert all(path.removesuffix(".md") in said for path in before)
    assert {step for step, _ in brain.planned()} == {"replace"}
    brain.restore()
    assert brain.contents() == before
    assert brain.planned() == []


def test_a_finding_whose_updates_can_not_be_joined_stays_and_hinders_no_other(
    brain: Brain,
) -> None:
    slug = brain.find("Bug")
    brain.append(slug, "one")
    brain.record()
    path = brain.root / f".cspace/context/findings/{slug}.md"
    path.write_bytes(path.read_bytes().partition(b"\n\n")[0])
    other = brain.decide("Cents")
    brain.record()
    (brain.root / f".cspace/context/decisions/{other}.md").unlink()
    kept = path.read_bytes()
    assert brain.restore().entries == (f"decisions/{other}",)
    assert path.read_bytes() == kept


def test_what_is_gone_is_found_by_as_much_of_its_name_as_tells_it_apart(brain: Brain) -> None:
    slug = brain.find("Sums are off")
    brain.record()
    brain.wipe()
    for given in ("sums", f"finding/{slug}", f".cspace/context/findings/{slug}.md"):
        assert brain.planned(given) == [("create", f"findings/{slug}")]
    brain.decide("Sums are cents")
    with pytest.raises(UsageError, match="'sums' may be"):
        brain.planned("sums")


def test_removing_a_record_hazard_takes_no_lost_one_of_its_name_along(brain: Brain) -> None:
    slug = brain.find("Bug", "the first")
    brain.wipe()
    assert brain.find("Bug", "the second") == slug
    brain.host.remove_entry(Kind.FINDING, slug)
    assert brain.restore().entries == (f"findings/{slug}",)
    assert brain.host.read_entry(Kind.FINDING, slug).sections["Summary"] == "the first"
    assert brain.restore().entries == ()


def test_a_record_put_back_over_another_one_hazard_leaves_that_to_be_restored(
    brain: Brain,
) -> None:
    slug = brain.find("Bug", "the first")
    brain.record()
    then = brain.clock().isoformat()
    brain.wipe()
    brain.find("Bug", "the second")
    assert brain.restore(slug, then).entries == (f"findings/{slug}",)
    assert brain.restore().entries == (f"findings/{slug}-2",)
    texts = [brain.host.read_entry(Kind.FINDING, one).sections for one in (slug, f"{slug}-2")]
    assert [one["Summary"] for one in texts] == ["the first", "the second"]


def test_removing_the_record_that_took_a_name_restores_the_other_one_once(brain: Brain) -> None:
    slug = brain.find("Bug", "the first")
    brain.wipe()
    brain.find("Bug", "the second")
    assert brain.restore().entries == (f"findings/{slug}-2",)
    brain.host.remove_entry(Kind.FINDING, slug)
    assert brain.restore().entries == ()


def test_what_a_hand_wrote_before_a_removal_comes_back_by_its_name(brain: Brain) -> None:
    slug = brain.decide("Cents")
    brain.record()
    path = brain.root / f".cspace/context/decisions/{slug}.md"
    path.write_bytes(path.read_bytes() + b"by hand\n")
    brain.host.remove_entry(Kind.DECISION, slug)
    assert brain.restore().entries == ()
    brain.restore(slug)
    assert path.read_bytes().endswith(b"by hand\n")


def test_at_a_time_an_entry_is_what_it_was_and_that_can_be_undone(brain: Brain) -> None:
    slug = brain.find("Bug")
    first = brain.contents()
    then = brain.clock()
    brain.append(slug, "one")
    second = brain.contents()
    brain.clock.advance(seconds=10)
    now = brain.clock()
    brain.restore(slug, then.isoformat())
    assert brain.contents() == first
    assert brain.planned() == []
    brain.restore(slug, now.isoformat())
    assert brain.contents() == second


def test_at_a_time_only_what_is_missing_now_comes_back(brain: Brain) -> None:
    kept, lost = brain.find("Kept"), brain.find("Lost")
    first = brain.contents()
    then = brain.clock()
    brain.append(kept, "one")
    brain.append(lost, "one")
    newer = brain.contents()
    brain.record()
    (brain.root / f".cspace/context/findings/{lost}.md").unlink()
    assert brain.restore(at=then.isoformat()).entries == (f"findings/{lost}",)
    path = f"findings/{lost}.md"
    assert brain.contents() == newer | {path: first[path]}


def test_a_name_that_is_not_known_and_a_time_before_it_are_not_found(brain: Brain) -> None:
    slug = brain.find("Bug")
    brain.record()
    with pytest.raises(NotFound, match="never recorded"):
        brain.restore("no-such-entry")
    with pytest.raises(NotFound, match="never recorded") as nearly:
        brain.restore("2026-04-14-bugs")
    assert nearly.value.hint == f"the nearest are finding/{slug}"
    with pytest.raises(NotFound, match="was not there"):
        brain.restore(slug, "2020-01-01")
    with pytest.raises(UsageError, match="is not a time"):
        brain.restore(slug, "yesterday")


def test_an_entry_has_every_name_that_other_commands_show_for_it(brain: Brain) -> None:
    slug = brain.find("Bug")
    for name in (f"finding/{slug}", f"findings/{slug}", f".cspace/context/findings/{slug}.md"):
        brain.wipe()
        assert brain.restore(name).entries == (f"findings/{slug}",)


def test_a_day_means_its_end() -> None:
    assert parse_moment("2026-04-14").isoformat() == "2026-04-14T23:59:59.999999+00:00"
    assert parse_moment("2026-04-14T10:00:00+02:00").hour == 8


def test_a_human_file_comes_back_when_it_is_missing_or_only_seeded(brain: Brain) -> None:
    brain.find("Bug")
    path = brain.root / ".cspace/context/direction.md"
    path.write_text("# Direction\n\nForward.\n", encoding="utf-8")
    brain.record()
    path.unlink()
    assert brain.restore().entries == ("direction",)
    path.write_text(assets.template("direction.md"), encoding="utf-8")
    assert brain.planned() == [("create", "direction")]
    brain.restore()
    assert "Forward." in path.read_text(encoding="utf-8")
    path.write_text("# Direction\n\nBack.\n", encoding="utf-8")
    assert brain.restore().entries == ()


def test_a_file_that_changes_after_the_plan_is_not_overwritten(brain: Brain) -> None:
    slug, lost = brain.find("Bug"), brain.find("Lost")
    brain.commit()
    brain.append(slug, "one")
    git.git(brain.root, "checkout", "--quiet", "--", ".")
    (brain.root / f".cspace/context/findings/{lost}.md").unlink()
    planned = context_restore.plan_restore(brain.recorder, None, None)
    brain.append(slug, "meanwhile")
    newer = brain.contents()[f"findings/{slug}.md"]
    done = context_restore.apply_restore(brain.host, planned, brain.recorder)
    assert [entry for entry, _ in done.failed] == [f"findings/{slug}"]
    assert done.entries == (f"findings/{lost}",)
    assert brain.contents()[f"findings/{slug}.md"] == newer
    brain.restore()
    notes = [one.note for one in brain.host.read_entry(Kind.FINDING, slug).updates]
    assert notes == ["filed", "one", "meanwhile"]


def test_a_plan_changes_nothing(brain: Brain) -> None:
    fill(brain)
    brain.wipe()
    files = sorted(brain.root.rglob("*")) + sorted(brain.user.rglob("*"))
    assert len(brain.planned()) == 4
    assert sorted(brain.root.rglob("*")) + sorted(brain.user.rglob("*")) == files


def test_the_history_tells_versions_newest_first_also_of_what_is_not_taken_yet(
    brain: Brain,
) -> None:
    slug = brain.find("Bug")
    brain.record()
    brain.append(slug, "one")
    newest, oldest = context_restore.list_changes(brain.recorder, slug)
    assert newest.time > oldest.time
    assert (newest.author, newest.instance) == ("mercury", "mercury")
    assert git.git(brain.root, "show", oldest.revision).stdout.count(b"filed") == 1


RESTORER = """
import sys
from pathlib import Path
from cspace.events import ignore
from cspace.lifecycle import context_restore as core
from cspace.lifecycle.recorded_context import Recorder
from cspace.lifecycle.shared_context import open_context
from cspace.project import find_project
recorder = Recorder(find_project(Path(sys.argv[1])), Path(sys.argv[2]), ignore)
recorder.record()
planned = core.plan_restore(recorder, None, None)
core.apply_restore(open_context(Path(sys.argv[1]), {}, ignore), planned, recorder)
"""


def test_kill_9_while_restoring_loses_nothing_and_leaves_no_debris(
    brain: Brain, counts: Callable[[int, int], int]
) -> None:
    for number in range(40):
        brain.find(f"Bug {number}")
    before = brain.contents()
    for number in range(counts(6, 60)):
        brain.wipe()
        process = subprocess.Popen([sys.executable, "-c", RESTORER, brain.root, brain.user])
        try:
            process.wait(timeout=0.3 + (number % 20) * 0.03)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.wait()
        assert brain.contents().items() <= before.items()
    brain.clock.advance(days=10_000)
    brain.restore()
    assert brain.contents() == before
    place = brain.root / ".cspace/context/findings"
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


def test_a_finding_without_a_section_of_updates_hazard_does_not_stop_a_restore(
    brain: Brain,
) -> None:
    slug, other = brain.find("Bug"), brain.find("Other")
    brain.record()
    path = brain.root / f".cspace/context/findings/{slug}.md"
    path.write_text("Since Monday.\n", encoding="utf-8")
    brain.record()
    brain.wipe()
    assert {f"findings/{one}" for one in (slug, other)} == set(brain.restore().entries)
