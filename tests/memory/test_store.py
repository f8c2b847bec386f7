"""The store: one memory, one index line, and nothing outside of the root."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.memory.changes import MAX_BYTES, Change, Operation, apply_change, revision_of
from cspace.memory.entries import Entries
from cspace.memory.orchestrator import adopt
from cspace.memory.scopes import Kind, Scope
from cspace.memory.store import MemoryStore
from tests.conftest import Clock
from tests.memory.conftest import USER, WEB, append, force, index_of

Make = Callable[..., None]
ORCHESTRATOR = Scope(Kind.ORCHESTRATOR)


def create(slug: str, body: str = "# One\n", scope: Scope = USER) -> Change:
    return Change(scope, slug, Operation.CREATE, body)


def tree(root: Path) -> dict[str, bytes]:
    """Return every memory and index below a root."""
    found = {path.relative_to(root): path for path in root.rglob("*") if path.is_file()}
    ours = {name: path for name, path in found.items() if not str(name).startswith(".")}
    return {str(name): path.read_bytes() for name, path in ours.items() if name.name[0] != "."}


def test_a_memory_is_written_with_its_index_line_and_a_line_of_the_log(
    store: MemoryStore, root: Path
) -> None:
    done = store.change(create("testing", "# Use a real database\n\n**Why:** [/foo]\n"))
    assert (root / "user/testing.md").read_text(encoding="utf-8") == (
        "---\nname: testing\ndescription: Use a real database\nmetadata:\n  type: user\n"
        "  updated_at: 2026-04-14T10:30:00Z\n---\n# Use a real database\n\n**Why:** [/foo]\n"
    )
    assert index_of(root) == (
        "<!-- cspace:index:begin -->\n- [testing](testing.md): Use a real database\n"
        "<!-- cspace:index:end -->\n"
    )
    assert "- [user](user/MEMORY.md)\n" in (root / "MEMORY.md").read_text(encoding="utf-8")
    assert done.path == root / "user/testing.md"
    assert json.loads((root / ".log.jsonl").read_bytes()) == {
        "time": "2026-04-14T10:30:00Z",
        "operation": "create",
        "scope": "user",
        "slug": "testing",
        "by": "ann",
        "before": None,
        "after": revision_of(done.path.read_bytes()),
        "proposal": "",
    }


def test_nothing_is_left_behind_beside_a_memory(store: MemoryStore, root: Path) -> None:
    store.change(create("testing"))
    append(store, "testing", "more")
    assert sorted(os.listdir(root / "user")) == ["MEMORY.md", "testing.md"]
    store.write(
        Change(USER, "testing", Operation.REMOVE), None, revision_of(store.read(USER, "testing"))
    )
    assert sorted(os.listdir(root / "user")) == ["MEMORY.md"]
    assert "testing" not in index_of(root)


def test_every_write_is_of_what_was_seen(store: MemoryStore, root: Path, make: Make) -> None:
    make("testing")
    seen = store.read(USER, "testing")
    change = Change(USER, "testing", Operation.APPEND, "late")
    after = apply_change(seen, change, store.now())
    append(store, "testing", "early")
    before = tree(root)
    for given in (revision_of(seen), None):
        with pytest.raises(Conflict, match=r"user/testing was (changed|made) meanwhile"):
            store.write(change, after, given)
    store.write(
        Change(USER, "testing", Operation.REMOVE), None, revision_of(store.read(USER, "testing"))
    )
    with pytest.raises(Conflict, match="user/testing was removed meanwhile"):
        store.write(change, after, revision_of(seen))
    assert before.keys() - tree(root).keys() == {"user/testing.md"}


def test_a_scope_lists_what_it_has_by_slug_and_by_type(
    store: MemoryStore, clock: Clock, make: Make
) -> None:
    make("b", "a")
    clock.advance(hours=1)
    store.change(Change(USER, "c", Operation.CREATE, "text", type="reference", description="d"))
    found = store.list_entries(USER)
    assert [(one.slug, one.type, one.description) for one in found.entries] == [
        ("a", "user", "About a"),
        ("b", "user", "About b"),
        ("c", "reference", "d"),
    ]
    assert found.entries[2].updated == datetime(2026, 4, 14, 11, 30, tzinfo=UTC)
    assert [one.slug for one in store.list_entries(USER, type="reference").entries] == ["c"]
    assert (store.count(USER), store.count(WEB)) == (3, 0)
    assert store.list_entries(WEB) == Entries(())
    assert store.entry(USER, "c") == found.entries[2]


def test_scopes_are_those_that_have_a_directory(store: MemoryStore, root: Path, make: Make) -> None:
    assert store.scopes() == ()
    make("a")
    make("a", scope=WEB)
    (root / "projects/Bad Name").mkdir()
    (root / ".proposals").mkdir()
    (root / "projects/linked").symlink_to(root / "user")
    assert store.scopes() == (WEB, USER)
    assert not (root / "personas").exists()


def test_a_missing_memory_names_the_nearest(store: MemoryStore, make: Make) -> None:
    make("testing", "style")
    with pytest.raises(NotFound, match="user/testin does not exist") as refused:
        store.read(USER, "testin")
    assert refused.value.hint == "the nearest are testing"
    assert store.find(USER, "testin") is None
    with pytest.raises(NotFound) as empty:
        store.read(WEB, "x")
    assert empty.value.hint == "see what there is: cspace memory list --scope projects/web"


@pytest.mark.parametrize(
    "slug",
    ["..", ".", "-x", "MEMORY", "memory", "CON", "a/b", "a\0b", "x" * 10_000, ".hidden", "\ud800"],
)
def test_a_bad_name_writes_nothing(store: MemoryStore, root: Path, slug: str) -> None:
    with pytest.raises(UsageError, match="slug"):
        store.write(create(slug), b"x\n", None)
    with pytest.raises(UsageError, match="slug"):
        store.change(create(slug))
    assert not root.exists()


@pytest.mark.parametrize("slug", ["..", ".", "MEMORY", "a/b", "a\0b", "x" * 10_000, ".hidden", ""])
def test_a_name_that_leaves_the_scope_is_read_neither(store: MemoryStore, slug: str) -> None:
    for call in (store.find, store.read, store.entry):
        with pytest.raises(UsageError, match="slug"):
            call(USER, slug)


def test_a_file_of_another_name_is_a_memory_that_can_be_read_changed_moved_and_removed(
    store: MemoryStore, root: Path, make: Make
) -> None:
    make("a")
    (root / "user/Feedback_Testing.md").write_text("# Mine\n", encoding="utf-8")
    assert [one.slug for one in store.list_entries(USER).entries] == ["Feedback_Testing", "a"]
    append(store, "Feedback_Testing", "more")
    assert "- [Feedback_Testing](Feedback_Testing.md): Mine\n" in index_of(root)
    revision = revision_of(store.read(USER, "Feedback_Testing"))
    store.move((USER, "Feedback_Testing"), (USER, "feedback-testing"), str(revision))
    assert store.slugs(USER) == ("a", "feedback-testing")
    assert store.read(USER, "feedback-testing") == b"# Mine\n\nmore\n"
    assert "Feedback_Testing" not in index_of(root)


def test_a_twin_that_differs_in_case_only_is_refused(
    store: MemoryStore, root: Path, make: Make
) -> None:
    make("a")
    make("a", scope=WEB)
    (root / "user/Testing.md").write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(Conflict, match=r"user/testing.md and 'Testing.md' are one file"):
        store.change(create("testing"))
    store.move((USER, "Testing"), (USER, "testing"), str(revision_of(b"# Mine\n")))
    assert store.slugs(USER) == ("a", "testing")
    (root / "projects/Shop").mkdir()
    with pytest.raises(Conflict, match="projects/shop and 'Shop' are one directory"):
        store.change(create("a", scope=Scope(Kind.PROJECT, "shop")))
    assert not (root / "projects/shop").exists()


def test_a_twin_is_refused_among_ten_thousand(store: MemoryStore, root: Path, make: Make) -> None:
    make("a")
    (root / "user/Testing.md").write_text("# Mine\n", encoding="utf-8")
    store.reindex(USER)
    many = "".join(f"- [n{number:05}](n{number:05}.md): One of many\n" for number in range(5000))
    index = root / "user/MEMORY.md"
    index.write_text(
        index_of(root).replace("<!-- cspace:index:end", many + "<!-- cspace:index:end")
    )
    with pytest.raises(Conflict, match=r"user/testing.md and another name in the index"):
        store.change(create("testing"))
    with pytest.raises(Conflict, match=r"user/testing.md and another name in the index"):
        store.move((USER, "a"), (USER, "testing"), str(revision_of(store.read(USER, "a"))))
    store.change(create("testing-more"))
    assert "- [testing-more](testing-more.md): One\n" in index_of(root)


def test_links_and_fifos_are_refused_by_name_and_nothing_is_followed(
    store: MemoryStore, root: Path, tmp_path: Path, make: Make
) -> None:
    make("a")
    outside = tmp_path / "outside.md"
    outside.write_text("secret\n", encoding="utf-8")
    (root / "user/linked.md").symlink_to(outside)
    (root / "user/dangling.md").symlink_to(tmp_path / "nowhere.md")
    os.mkfifo(root / "user/fifo.md")
    (root / "user/directory.md").mkdir()
    for slug in ("linked", "dangling", "fifo", "directory"):
        for call in (
            lambda slug=slug: store.read(USER, slug),
            lambda slug=slug: store.change(create(slug)),
            lambda slug=slug: store.write(create(slug), b"x\n", None),
        ):
            with pytest.raises(CspaceError, match=slug):
                call()
    assert {one.path for one in store.list_entries(USER).skipped} == {
        "linked.md", "dangling.md", "fifo.md", "directory.md",
    }  # fmt: skip
    assert outside.read_text(encoding="utf-8") == "secret\n"
    assert not (tmp_path / "nowhere.md").exists()
    assert store.count(USER) == 1


@pytest.mark.parametrize("name", ["MEMORY.md", "../.locks/user.lock", "", ".changing"])
def test_a_linked_index_lock_or_directory_is_refused(
    store: MemoryStore, root: Path, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "MEMORY.md").write_text("theirs\n", encoding="utf-8")
    (root / "user").parent.mkdir(parents=True)
    if name:
        (root / "user").mkdir()
    (root / ".locks").mkdir()
    (root / "user" / name).symlink_to(outside / Path(name).name if name else outside)
    if name == ".changing":
        store.change(create("a"))  # a mark of somebody who was killed; the link itself goes
    else:
        with pytest.raises(CspaceError) as refused:
            store.change(create("a"))
        assert refused.value.hint
        assert str(root) in f"{refused.value} {refused.value.hint}"
    assert sorted(os.listdir(outside)) == ["MEMORY.md"]
    assert (outside / "MEMORY.md").read_text(encoding="utf-8") == "theirs\n"


def test_an_adopted_directory_is_the_one_link_that_is_followed(
    store: MemoryStore, root: Path, tmp_path: Path
) -> None:
    own = tmp_path / "orchestrator/memory"
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("# Mine\n", encoding="utf-8")
    root.mkdir()
    (root / "orchestrator").symlink_to(own)
    for call in (
        lambda: store.list_entries(ORCHESTRATOR),
        lambda: store.change(create("a", scope=ORCHESTRATOR)),
    ):
        with pytest.raises(CspaceError, match="a link that cspace did not make"):
            call()
    adopt(root, own.parent, own)
    store.change(create("a", scope=ORCHESTRATOR))
    assert (own / "a.md").is_file()
    assert (own / "MEMORY.md").read_text(encoding="utf-8").startswith("# Mine\n\n<!-- cspace")
    assert store.directory(ORCHESTRATOR) == own
    assert store.scopes() == (ORCHESTRATOR,)
    (root / "orchestrator").unlink()
    (root / "orchestrator").symlink_to(tmp_path)
    with pytest.raises(CspaceError, match="a link that cspace did not make"):
        store.read(ORCHESTRATOR, "a")


def test_a_memory_goes_to_another_scope_with_its_line(
    store: MemoryStore, root: Path, make: Make
) -> None:
    make("a", "b")
    before = store.read(USER, "a")
    store.move((USER, "a"), (WEB, "c"), str(revision_of(before)))
    assert store.read(WEB, "c") == before.replace(b"name: a", b"name: c")
    assert "[a]" not in index_of(root)
    assert "- [c](c.md): About a\n" in index_of(root, WEB)
    make("c")
    for source, target, error in (
        ((USER, "b"), (USER, "c"), Conflict),
        ((USER, "gone"), (USER, "d"), Conflict),
        ((USER, "b"), (USER, "b"), UsageError),
        ((USER, "b"), (USER, "B_x"), UsageError),
    ):
        with pytest.raises(error):
            store.move(source, target, str(revision_of(store.find(*source))))
    with pytest.raises(Conflict):
        store.move((USER, "b"), (USER, "d"), "0" * 64)
    assert store.slugs(USER) == ("b", "c")


def test_a_memory_that_is_too_big_is_refused(store: MemoryStore, root: Path, make: Make) -> None:
    make("a")
    with pytest.raises(UsageError, match="more than 262144"):
        force(store, "a", b"x" * (MAX_BYTES + 1))
    assert store.read(USER, "a").endswith(b"# About a\n")


def test_the_rights_of_a_file_stay(store: MemoryStore, root: Path, make: Make) -> None:
    make("a")
    for name in ("a.md", "MEMORY.md"):
        (root / "user" / name).chmod(0o600)
    force(store, "a", b"# Changed\n")
    modes = [(root / "user" / name).stat().st_mode & 0o777 for name in ("a.md", "MEMORY.md")]
    assert modes == [0o600, 0o600]


PERSON = [
    b"# My notes\n",
    b"no end of line",
    b"# Windows\r\n\r\ntext\r\n",
    b"\xef\xbb\xbf# With a mark\n",
    b"```\n<!-- cspace:index:begin -->\n<!-- cspace:index:end -->\n```\n",
    b"- [a](a.md): mine\n\xff\xfe not a text\n",
]


@pytest.mark.parametrize("top", PERSON)
def test_a_persons_text_in_the_index_is_there_after_100_writes(
    store: MemoryStore, root: Path, top: bytes
) -> None:
    (root / "user").mkdir(parents=True)
    index = root / "user/MEMORY.md"
    index.write_bytes(top)
    store.change(create("a"))
    index.write_bytes(index.read_bytes() + b"below, without an end")
    for number in range(50):
        store.change(create(f"n{number}"))
        append(store, "a", f"line {number}")
    content = index.read_bytes()
    assert content.startswith(top)
    assert content.endswith(b"below, without an end")
    assert content.count(b"](") - top.count(b"](") == 51


@pytest.mark.parametrize("markers", ["begin", "end", "begin end begin end", "end begin"])
def test_broken_markers_refuse_a_write_and_change_nothing(
    store: MemoryStore, root: Path, make: Make, markers: str
) -> None:
    make("a")
    lines = "".join(f"<!-- cspace:index:{word} -->\n" for word in markers.split())
    (root / "user/MEMORY.md").write_text(lines, encoding="utf-8")
    before = tree(root)
    for call in (
        lambda: make("b"),
        lambda: append(store, "a", "x"),
        lambda: store.reindex(USER),
        lambda: store.move((USER, "a"), (USER, "b"), str(revision_of(store.read(USER, "a")))),
    ):
        with pytest.raises(CspaceError, match=r"user/MEMORY.md: .* not one pair") as refused:
            call()
        assert refused.value.hint
    assert tree(root) == before


def test_a_missing_index_or_region_is_made_anew_from_the_files(
    store: MemoryStore, root: Path, make: Make
) -> None:
    make("a", "b")
    whole = index_of(root)
    (root / "user/MEMORY.md").unlink()
    append(store, "a", "x")
    assert index_of(root) == whole
    (root / "user/MEMORY.md").write_text("mine\n", encoding="utf-8")
    make("c")
    assert "[a](a.md)" in index_of(root)
    assert index_of(root).startswith("mine\n")


def test_reindex_writes_the_lines_that_the_files_want(
    store: MemoryStore, root: Path, make: Make
) -> None:
    make("a", "b")
    (root / "user/a.md").unlink()
    (root / "user/c.md").write_text("# By hand\n", encoding="utf-8")
    assert store.reindex(USER) == 2
    assert index_of(root).splitlines()[1:-1] == ["- [b](b.md): About b", "- [c](c.md): By hand"]
    with pytest.raises(NotFound, match="projects/web does not exist"):
        store.reindex(WEB)


def test_the_roots_own_index_points_to_each_scope_and_keeps_a_persons_text(
    store: MemoryStore, root: Path, make: Make
) -> None:
    root.mkdir()
    (root / "MEMORY.md").write_text("# Read this first\n", encoding="utf-8")
    make("a", scope=WEB)
    make("a")
    assert (root / "MEMORY.md").read_text(encoding="utf-8") == (
        "# Read this first\n\n<!-- cspace:index:begin -->\n"
        "- [projects/web](projects/web/MEMORY.md)\n- [user](user/MEMORY.md)\n"
        "<!-- cspace:index:end -->\n"
    )


def test_a_root_that_lost_its_index_gets_one_with_all_scopes(
    store: MemoryStore, root: Path, make: Make
) -> None:
    make("a", scope=WEB)
    (root / "MEMORY.md").unlink()
    make("a")
    whole = (root / "MEMORY.md").read_bytes()
    assert whole.count(b"- [") == 2
    (root / "MEMORY.md").unlink()
    store.reindex(USER)
    assert (root / "MEMORY.md").read_bytes() == whole


def test_what_an_editor_saves_while_a_person_decides_is_a_conflict(
    store: MemoryStore, root: Path, make: Make
) -> None:
    make("a")
    seen = store.read(USER, "a")
    (root / "user/a.md").write_bytes(seen + b"by hand\n")
    with pytest.raises(Conflict, match="user/a was changed meanwhile"):
        store.write(Change(USER, "a", Operation.REMOVE), None, revision_of(seen))
    assert store.read(USER, "a").endswith(b"by hand\n")


def test_a_reader_makes_nothing(store: MemoryStore, root: Path) -> None:
    assert store.list_entries(USER) == Entries(())
    assert store.scopes() == ()
    assert store.find(USER, "a") is None
    assert not root.exists()


def test_what_is_shown_before_a_write_can_still_stop_it(store: MemoryStore, root: Path) -> None:
    def refuse(before: bytes | None, after: bytes | None) -> None:
        assert before is None
        assert after is not None
        raise UsageError("hidden")

    with pytest.raises(UsageError, match="hidden"):
        store.change(create("a"), refuse)
    assert store.slugs(USER) == ()


def test_a_torn_line_of_the_log_is_closed_before_the_next(
    store: MemoryStore, root: Path, make: Make
) -> None:
    make("a")
    with (root / ".log.jsonl").open("ab") as log:
        log.write(b'{"time": "20')
    make("b")
    lines = (root / ".log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["slug"] for line in (lines[0], lines[2])] == ["a", "b"]


def test_a_linked_log_refuses_the_write(store: MemoryStore, root: Path, tmp_path: Path) -> None:
    root.mkdir()
    (root / ".log.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CspaceError, match=r"\.log\.jsonl: a link or another file"):
        store.change(create("a"))
    assert not (tmp_path / "elsewhere").exists()
    assert store.slugs(USER) == ()
