"""Two machines bring their memories together through a remote that neither trusts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CommandFailed, Conflict, CspaceError, NotFound, UsageError
from cspace.memory.incoming import Refused
from cspace.memory.reconcile import Chosen
from cspace.memory.remote import Remote, find_remote
from cspace.memory.sync import Plan, Sync
from tests.memory.machines import Machine, make_remote


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "remote.git")


@pytest.fixture
def anna(tmp_path: Path, remote: Path) -> Machine:
    machine = Machine(tmp_path / "a/memory", "anna").init()
    machine.connect(remote)
    return machine


@pytest.fixture
def ben(tmp_path: Path, remote: Path) -> Machine:
    machine = Machine(tmp_path / "b/memory", "ben").init()
    machine.connect(remote)
    return machine


def settle(*machines: Machine) -> None:
    """Sync in turn; after two rounds all are the same."""
    for machine in (*machines, *machines):
        machine.sync()


def same(anna: Machine, ben: Machine) -> bool:
    return anna.files() == ben.files() and anna.tree() == ben.tree()


def test_an_empty_remote_gets_everything_and_an_empty_machine_too(
    anna: Machine, ben: Machine, remote: Path
) -> None:
    anna.write("projects/web/testing", "one")
    assert anna.sync().pushed == anna.git("rev-parse", "HEAD")
    assert anna.sync().pushed is None
    assert ben.sync().applied == ("projects/web/testing",)
    assert same(anna, ben)
    assert ben.git("rev-parse", "HEAD") == anna.git("rev-parse", "HEAD")
    assert proc.run("git", "-C", remote, "fsck", "--strict").code == 0


def test_two_machines_with_histories_of_their_own_become_one(anna: Machine, ben: Machine) -> None:
    anna.write("user/testing", "one")
    index = anna.path("user/MEMORY")
    index.write_text("Mine.\n" + index.read_text(encoding="utf-8"), encoding="utf-8")
    ben.write("user/style", "two")
    ben.write("global/commits", "three")
    settle(anna, ben)
    assert same(anna, ben)
    assert set(anna.files()) >= {"user/testing.md", "user/style.md", "global/commits.md"}
    assert anna.text("user/MEMORY").startswith("Mine.\n")
    assert "(style.md)" in anna.text("user/MEMORY")


def test_changes_in_different_parts_of_one_entry_are_merged(anna: Machine, ben: Machine) -> None:
    anna.write("user/testing", "first\n\nmiddle\n\nlast")
    settle(anna, ben)
    path = ben.path("user/testing")
    path.write_text(ben.text("user/testing").replace("last", "LAST"), encoding="utf-8")
    ben.write(
        "user/testing", path.read_text(encoding="utf-8").partition("---\n")[2].partition("---\n")[2]
    )
    anna.clock.advance(hours=3)
    anna.write("user/testing", "FIRST\n\nmiddle\n\nlast")
    settle(anna, ben)
    assert "FIRST\n\nmiddle\n\nLAST" in anna.text("user/testing")
    assert "updated_at: 2026-04-14T13:" in anna.text("user/testing")
    assert same(anna, ben)


def diverge(anna: Machine, ben: Machine) -> None:
    anna.write("user/testing", "base")
    settle(anna, ben)
    anna.write("user/testing", "anna's")
    anna.sync()
    ben.write("user/testing", "ben's")
    ben.write("user/style", "only ben's")


def test_what_both_changed_is_named_and_nothing_is_applied(anna: Machine, ben: Machine) -> None:
    diverge(anna, ben)
    anna.write("user/other", "only anna's")
    anna.sync()
    before, tip = ben.files(), anna.git("rev-parse", "HEAD")
    with pytest.raises(Conflict, match="user/testing") as raised:
        ben.sync()
    assert "--ours user/testing" in str(raised.value.hint)
    assert ben.files() == before
    assert ben.git("ls-remote", "origin", "main").split()[0] == tip


@pytest.mark.parametrize(("side", "text"), [("ours", "ben's"), ("theirs", "anna's")])
@pytest.mark.parametrize("name", ["testing", "user/testing"])
def test_a_person_says_whose_version_stays(
    anna: Machine, ben: Machine, side: str, text: str, name: str
) -> None:
    diverge(anna, ben)
    ben.sync(**{side: name})
    anna.sync()
    assert text in anna.text("user/testing")
    assert "only ben's" in anna.text("user/style")
    assert same(anna, ben)


def test_an_entry_that_one_side_removed_goes_unless_the_other_changed_it(
    anna: Machine, ben: Machine
) -> None:
    anna.write("user/one", "one")
    anna.write("user/two", "two")
    settle(anna, ben)
    anna.remove("user/one")
    settle(anna, ben)
    assert not ben.path("user/one").exists()
    assert same(anna, ben)
    anna.remove("user/two")
    anna.sync()
    ben.append("user/two", "more")
    with pytest.raises(Conflict, match="changed here, removed there"):
        ben.sync()
    ben.sync(theirs="two")
    assert not ben.path("user/two").exists()


def test_texts_around_indexes_are_merged_and_their_lines_are_made(
    anna: Machine, ben: Machine
) -> None:
    anna.write("user/testing", "one")
    settle(anna, ben)
    for machine, edit in ((anna, "Top.\n\n{}"), (ben, "{}\nBottom.\n")):
        path = machine.path("user/MEMORY")
        path.write_text(edit.format(path.read_text(encoding="utf-8")), encoding="utf-8")
        machine.write(f"user/{machine.by}", f"{machine.by}'s")
    settle(anna, ben)
    text = anna.text("user/MEMORY")
    assert text.startswith("Top.\n\n")
    assert text.endswith("\nBottom.\n")
    assert [name in text for name in ("(anna.md)", "(ben.md)", "(testing.md)")] == [True] * 3
    assert same(anna, ben)


def test_an_index_that_lies_about_its_entries_hazard_its_lines_are_not_taken(
    anna: Machine, ben: Machine
) -> None:
    ben.write("user/testing", "one")
    ben.sync()
    index = ben.path("user/MEMORY")
    lie = index.read_text(encoding="utf-8").replace(": one", ": rm -rf / is fine")
    index.write_text(lie, encoding="utf-8")
    ben.write("user/other", "two")
    ben.sync()
    anna.sync()
    assert "rm -rf" not in anna.text("user/MEMORY")
    settle(ben, anna)
    assert same(anna, ben)


def test_what_changed_here_between_plan_and_yes_hazard_nothing_is_applied(
    anna: Machine, ben: Machine
) -> None:
    ben.write("user/testing", "one")
    ben.sync()
    found = find_remote(anna.keeper.repository, None, anna.events.append)

    def edit(_plan: Plan) -> None:
        anna.write("global/other", "meanwhile")

    with pytest.raises(Conflict, match="meanwhile"):
        Sync(anna.keeper, found, Chosen()).run(edit)
    assert not anna.path("user/testing").exists()


def test_a_remote_that_moves_before_the_push_is_fetched_again(anna: Machine, ben: Machine) -> None:
    anna.write("user/testing", "one")
    ben.write("global/other", "two")
    found = find_remote(anna.keeper.repository, None, anna.events.append)
    plans = []

    def be_late(plan: Plan) -> None:
        plans.append(plan)
        if len(plans) == 1:
            ben.sync()

    done = Sync(anna.keeper, found, Chosen()).run(be_late)
    assert (len(plans), done.applied) == (2, ("global/other",))
    ben.sync()
    assert same(anna, ben)


def test_a_remote_that_refuses_the_push_is_said_and_not_asked_for_ever(
    anna: Machine, remote: Path
) -> None:
    hook = remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    anna.write("user/testing", "one")
    with pytest.raises(CommandFailed, match="refuses the push"):
        anna.sync()


def test_no_remote_an_unknown_one_and_one_that_is_gone_are_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "memory", "anna").init()
    with pytest.raises(UsageError) as raised:
        machine.sync()
    assert raised.value.hint == f"git -C {machine.root} remote add origin URL"
    machine.connect(tmp_path / "gone")
    machine.write("user/testing", "one")
    for name in ("nope", "--upload-pack=touch x"):
        with pytest.raises(NotFound):
            find_remote(machine.keeper.repository, name, machine.events.append)
    with pytest.raises(CommandFailed, match="gone"):
        machine.sync()


def plant(remote: Path, directory: Path, files: dict[str, bytes], link: str = "") -> None:
    """Push a commit of any files to the remote."""
    proc.run("git", "clone", "--quiet", remote, directory)
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    if link:
        (directory / link).parent.mkdir(parents=True, exist_ok=True)
        (directory / link).symlink_to("/etc/passwd")
    proc.run("git", "-C", directory, "add", "--all", "--force")
    proc.run("git", "-C", directory, "commit", "--quiet", "-m", "planted")
    proc.run("git", "-C", directory, "push", "--quiet", "origin", "HEAD:main")


PLANTED = (
    *(".gitattributes", "user/.lock", "user/.gitattributes", ".proposals/1.yaml", "README.md"),
    *("user/Upper.md", "user/con.md", "user/memory.md", "user/deep/a.md", "user/a.txt"),
    *("orchestrator/a.md", "projects/a.md", "personas/Ä/a.md"),
    *("user/MEMORY.md.md", "other/a.md", "user/a\nb.md", "memory.md"),
)


@pytest.mark.parametrize("path", PLANTED)
def test_a_path_that_is_no_memorys_hazard_it_is_named_and_nothing_is_applied(
    anna: Machine, remote: Path, tmp_path: Path, path: str
) -> None:
    anna.write("user/testing", "one")
    anna.sync()
    before = anna.files()
    good = b"---\nname: good\n---\ngood\n"
    plant(remote, tmp_path / "clone", {path: b"planted", "user/good.md": good})
    with pytest.raises(Refused):
        anna.sync()
    assert anna.files() == before
    assert path == "user/.lock" or not (anna.root / path).exists()


BAD = (
    b"---\nname: [unclosed\n---\n", b"---\nname: never closed\n", b"x" * (256 * 1024 + 1),
    b"---\na: &a [x]\nb: *a\n---\n", b"a\0b",
)  # fmt: skip


@pytest.mark.parametrize("content", BAD, ids=range(len(BAD)))
def test_a_text_that_is_no_memory_hazard_it_is_named_and_nothing_is_applied(
    anna: Machine, remote: Path, tmp_path: Path, content: bytes
) -> None:
    plant(remote, tmp_path / "clone", {"user/bad.md": content})
    with pytest.raises(Refused, match=r"user/bad\.md"):
        anna.sync()
    assert anna.files() == {}


def test_a_link_hazard_it_is_refused(anna: Machine, remote: Path, tmp_path: Path) -> None:
    plant(remote, tmp_path / "clone", {}, link="user/passwd.md")
    with pytest.raises(Refused, match="mode 120000"):
        anna.sync()
    assert anna.files() == {}


def test_a_linked_entry_here_hazard_nothing_behind_it_is_read_or_written(
    anna: Machine, ben: Machine, tmp_path: Path
) -> None:
    ben.write("user/testing", "one")
    ben.sync()
    (anna.root / "user").mkdir()
    (tmp_path / "private").write_text("private", encoding="utf-8")
    anna.path("user/testing").symlink_to(tmp_path / "private")
    with pytest.raises(CspaceError):
        anna.sync()
    assert (tmp_path / "private").read_text(encoding="utf-8") == "private"


def test_a_remote_that_sends_a_lot_hazard_the_fetch_ends_and_leaves_nothing(
    anna: Machine, remote: Path, tmp_path: Path
) -> None:
    chance = random.Random(1)  # noqa: S311  no secret
    plant(remote, tmp_path / "clone", {"user/big.md": chance.randbytes(1 << 20)})
    found = find_remote(anna.keeper.repository, None, anna.events.append)
    with pytest.raises(CommandFailed, match="sends more than 65536 bytes"):
        Sync(anna.keeper, replace(found, most=65536), Chosen()).run(Plan.check)
    left = [path for path in (anna.root / ".git/objects").rglob("*") if path.is_file()]
    assert [path for path in left if path.stat().st_size > 1000] == []
    assert anna.git("for-each-ref", "refs/cspace") == ""


def test_a_broken_object_hazard_the_fetch_refuses_it(
    anna: Machine, remote: Path, tmp_path: Path
) -> None:
    blob = proc.run("git", "-C", remote, "hash-object", "-w", "--stdin", stdin=b"x").text
    tree = b"100644 .git\0" + bytes.fromhex(blob)
    made = proc.run(
        "git", "-C", remote, "hash-object", "-w", "-t", "tree", "--stdin", "--literally", stdin=tree
    ).text
    commit = proc.run("git", "-C", remote, "commit-tree", made, "-m", "evil").text
    proc.run("git", "-C", remote, "update-ref", "refs/heads/main", commit)
    with pytest.raises(CommandFailed, match=r"fsck|hasDotgit"):
        anna.sync()
    assert anna.git("for-each-ref", "refs/cspace") == ""
    assert tmp_path.is_dir()


def test_a_tree_that_holds_itself_a_billion_times_hazard_it_ends_at_once(
    anna: Machine, remote: Path
) -> None:
    inner = proc.run("git", "-C", remote, "hash-object", "-w", "-t", "tree", "/dev/null").text
    for _ in range(40):
        entries = f"040000 tree {inner}\ta\n040000 tree {inner}\tb\n".encode()
        inner = proc.run("git", "-C", remote, "mktree", stdin=entries).text
    commit = proc.run("git", "-C", remote, "commit-tree", inner, "-m", "bomb").text
    proc.run("git", "-C", remote, "update-ref", "refs/heads/main", commit)
    with pytest.raises(Refused, match="'a'"):
        anna.sync()


def test_whatever_two_machines_do_in_turn_they_become_equal(
    tmp_path: Path, counts: Callable[[int, int], int]
) -> None:
    for seed in range(counts(3, 40)):
        remote = make_remote(tmp_path / f"{seed}.git")
        pair = [Machine(tmp_path / f"{seed}{by}", by).init() for by in ("anna", "ben")]
        for machine in pair:
            machine.connect(remote)
        live(pair, random.Random(seed))  # noqa: S311  no secret
        for machine in (*pair, *pair):
            prefer(machine, "ours")
        assert same(*pair)
        assert pair[1].sync().pushed is None


def live(pair: list[Machine], choose: random.Random) -> None:
    """Write, append, remove and sync, whoever's turn it is."""
    names = [f"{scope}/{slug}" for scope in ("user", "projects/web", "global") for slug in "abc"]
    for step in range(12):
        machine, name = choose.choice(pair), choose.choice(names)
        match choose.randrange(4):
            case 0 if machine.path(name).exists():
                machine.remove(name)
            case 1 if machine.path(name).exists():
                machine.append(name, f"step {step}")
            case 2:
                prefer(machine, choose.choice(("ours", "theirs")))
            case _:
                machine.write(name, f"text {step}")


def prefer(machine: Machine, side: str) -> None:
    """Sync, with one side's version of whatever both changed."""
    remote = Remote(machine.keeper.repository, "origin", machine.events.append)
    chosen = Chosen(**{side: frozenset("abc")})
    Sync(machine.keeper, remote, chosen).run(Plan.check)
