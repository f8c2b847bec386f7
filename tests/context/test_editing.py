"""A person's edit replaces what they were shown, and nothing else."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from cspace import files
from cspace.context.editing import MAX_DIFF_LINES, load_original, save_edited, unified_diff
from cspace.context.records import Decision, Kind, Origin
from cspace.context.store import ContextStore
from cspace.errors import Conflict, NotFound, UsageError


@pytest.fixture
def path(store: ContextStore) -> Path:
    """Return the file of the one decision there is."""
    return store.root / store.log_decision(Decision("Use SQLite", "c", "a", "d", "e")).path


def test_an_edit_is_written_and_the_mode_stays(store: ContextStore, path: Path) -> None:
    path.chmod(0o640)
    save_edited(store, load_original(store, "use-sqlite"), b"\xef\xbb\xbfanything\r\n\xc3\xbc")
    assert path.read_bytes() == b"\xef\xbb\xbfanything\r\n\xc3\xbc"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_another_wrote_meanwhile_hazard_is_not_overwritten(
    store: ContextStore, path: Path
) -> None:
    original = load_original(store, "use-sqlite")
    path.write_bytes(b"theirs")
    with pytest.raises(Conflict, match="was changed while you edited it"):
        save_edited(store, original, b"mine")
    assert path.read_bytes() == b"theirs"


def test_what_was_removed_meanwhile_does_not_come_back(store: ContextStore, path: Path) -> None:
    original = load_original(store, "use-sqlite")
    store.remove_entry(Kind.DECISION, path.stem)
    with pytest.raises(Conflict, match="was removed while you edited it"):
        save_edited(store, original, b"mine")
    assert not path.exists()


def test_an_edit_waits_for_whoever_holds_the_records_lock(store: ContextStore, path: Path) -> None:
    original = load_original(store, "use-sqlite")
    lock = path.with_name(f"{path.name}.lock")
    with ThreadPoolExecutor(1) as pool:
        with files.lock(lock, timeout=1, holder="bob"):
            saving = pool.submit(save_edited, store, original, b"mine")
            assert wait((saving,), timeout=0.2).done == set()
            assert path.read_bytes() == original.content
        saving.result()
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (b"a\0b", "NUL"),
        (b"a\xffb", "not be UTF-8 at byte 1"),
        (b" \n", "would be empty"),
        (b"x" * (8 * 1024 * 1024 + 1), "more than 8388608"),
    ],
    ids=["NUL", "encoding", "empty", "size"],
)
def test_what_can_not_be_stored_is_refused_and_the_file_stays(
    store: ContextStore, path: Path, after: bytes, said: str
) -> None:
    original = load_original(store, "use-sqlite")
    with pytest.raises(UsageError, match=said):
        save_edited(store, original, after)
    assert path.read_bytes() == original.content


def test_a_file_in_another_encoding_can_be_edited_without_changing_it(
    store: ContextStore, path: Path
) -> None:
    path.write_bytes(b"caf\xe9\n")
    save_edited(store, load_original(store, "use-sqlite"), b"caf\xe9!\n")
    assert path.read_bytes() == b"caf\xe9!\n"


def test_a_human_owned_file_is_edited_and_a_missing_one_is_made(
    store: ContextStore, path: Path
) -> None:
    roadmap = store.root / ".cspace/context/roadmap.md"
    save_edited(store, load_original(store, ".cspace/context/roadmap.md"), b"Soon\n")
    assert roadmap.read_bytes() == b"Soon\n"
    roadmap.unlink()
    missing = load_original(store, "roadmap")
    assert missing.content.startswith(b"# ")
    save_edited(store, missing, b"Later\n")
    assert roadmap.read_bytes() == b"Later\n"


def test_a_human_owned_file_that_appears_meanwhile_is_not_overwritten(
    store: ContextStore, root: Path
) -> None:
    original = load_original(store, "direction")
    (root / ".cspace/context").mkdir(parents=True)
    (root / ".cspace/context/direction.md").write_bytes(b"theirs")
    with pytest.raises(Conflict, match="was created while you edited it"):
        save_edited(store, original, b"mine")
    assert (root / ".cspace/context/direction.md").read_bytes() == b"theirs"


def test_inside_an_instance_human_owned_files_are_read_only(root: Path) -> None:
    inside = ContextStore(root, Origin(instance="mercury"))
    with pytest.raises(UsageError, match="read-only inside an instance") as caught:
        load_original(inside, "roadmap.md")
    assert caught.value.hint == "on the host: cspace context edit roadmap"


def test_of_a_missing_project_no_context_is_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not a directory"):
        load_original(ContextStore(tmp_path / "gone"), "roadmap")
    assert not (tmp_path / "gone").exists()


def test_a_link_is_not_edited(store: ContextStore, path: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    path.rename(outside)
    path.symlink_to(outside)
    before = outside.read_bytes()
    with pytest.raises(Exception, match="a link or another file"):
        load_original(store, "use-sqlite")
    assert outside.read_bytes() == before


def test_the_diff_shows_what_changed_a_last_line_end_too(store: ContextStore, path: Path) -> None:
    original = load_original(store, "use-sqlite")
    lines = unified_diff(original, original.content.removesuffix(b"e\n") + b"\xc3\xa9")
    assert lines[:2] == (f"--- a/{original.path}", f"+++ b/{original.path}")
    assert lines[-2:] == ("-e", "+é (no line end)")


def test_the_diff_of_a_very_long_text_is_a_count(store: ContextStore, path: Path) -> None:
    (said,) = unified_diff(load_original(store, "use-sqlite"), b"x\n" * MAX_DIFF_LINES)
    assert said.endswith(f"lines became {MAX_DIFF_LINES}")
