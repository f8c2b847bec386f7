"""`cspace context edit` and `rm` as processes: nothing that a person typed or kept is lost."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cspace.context.records import Decision, Discovery
from cspace.context.store import ContextStore
from tests.cli.terminal import make_editor, on_terminal
from tests.cli.test_app import cspace
from tests.conftest import Clock

SLUG = "2026-04-14-use-sqlite"
APPEND = """printf 'mine\\n' >> "$1" """


@pytest.fixture
def path(repo: Path, clock: Clock) -> Path:
    """Return the file of a project's one decision."""
    logged = ContextStore(repo, clock=clock).log_decision(Decision("Use SQLite", *"cade"))
    return repo / logged.path


@pytest.fixture
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where copies are made; what a test leaves there it has to expect."""
    place = tmp_path / "drafts"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def edit(path: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Edit without a terminal, with a script as the editor."""
    return subprocess.run(
        (sys.executable, "-m", "cspace.cli.app", "context", "edit", *(words or ("use-sqlite",))),
        cwd=path.parents[3], env=os.environ | {"EDITOR": make_editor(path.parents[4], script)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


def kept(drafts: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in drafts.glob("*/*.md")]


def test_an_edit_is_shown_as_a_diff_and_written(path: Path, drafts: Path) -> None:
    path.chmod(0o600)
    before = path.read_text(encoding="utf-8")
    answer = edit(path, """printf 'ü\\033[2J\\n' >> "$1" """)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith(f"--- a/.cspace/context/decisions/{SLUG}.md\n")
    assert answer.stdout.endswith("\n+ü\\x1b[2J\n")
    assert path.read_text(encoding="utf-8") == f"{before}ü\x1b[2J\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(drafts.iterdir()) == []


def test_the_editor_has_a_private_copy_that_is_called_like_the_file(
    path: Path, drafts: Path
) -> None:
    answer = edit(path, """stat -c '%n %a' "$1" "$(dirname "$1")" >&2""")
    copy, directory = answer.stderr.splitlines()[:2]
    assert copy.split()[0].endswith(f"/{SLUG}.md")
    assert directory.split()[1] == "700"


def test_an_unchanged_copy_writes_nothing(path: Path, drafts: Path) -> None:
    before = path.stat()
    answer = edit(path, "true")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert "nothing changed" in answer.stderr
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(drafts.iterdir()) == []


def test_a_change_while_the_editor_is_open_hazard_is_kept_and_so_is_the_copy(
    path: Path, drafts: Path
) -> None:
    answer = edit(path, f"""{APPEND}\nprintf 'theirs\\n' >> '{path}'""")
    assert answer.returncode == 4
    assert "was changed while you edited it; nothing was written" in answer.stderr
    assert path.read_text(encoding="utf-8").endswith("theirs\n")
    (mine,) = kept(drafts)
    assert mine.endswith("mine\n")
    assert f"note: your text is kept in {drafts}" in answer.stderr


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        (f"{APPEND}\nexit 3", 5, "ended with code 3; nothing was written"),
        (f"{APPEND}\nkill -9 $$", 5, "ended with code -9"),
        (f"""{APPEND}\nrm '$PATH_OF_IT'""", 4, "was removed while you edited it"),
        (f"{APPEND}\nprlimit --pid $PPID --fsize=0:0", 1, "File too large"),
        (f"""{APPEND}\nprintf '\\000' >> "$1" """, 2, "holds a NUL"),
    ],
    ids=["failed", "killed", "removed", "disk", "refused"],
)
def test_whatever_fails_hazard_the_file_is_as_it_was_and_the_copy_is_kept(
    path: Path, drafts: Path, script: str, code: int, said: str
) -> None:
    before = path.read_bytes()
    answer = edit(path, script.replace("$PATH_OF_IT", str(path)))
    assert (answer.returncode, said in answer.stderr) == (code, True), answer.stderr
    assert not path.exists() or path.read_bytes() == before
    (mine,) = kept(drafts)
    assert "mine\n" in mine
    assert [one.name for one in path.parent.glob(".*")] == []


def test_what_an_editor_left_beside_an_unchanged_copy_is_kept(path: Path, drafts: Path) -> None:
    answer = edit(path, """printf 'swap' > "$1.swp"\nexit 1""")
    assert answer.returncode == 5
    assert [one.read_text(encoding="utf-8") for one in drafts.glob("*/*.swp")] == ["swap"]


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 1", "ended with code 1"), ("""rm "$1" """, "the editor removed the copy")],
)
def test_an_editor_that_fails_before_anything_was_typed_leaves_nothing(
    path: Path, drafts: Path, script: str, said: str
) -> None:
    before = path.read_bytes()
    answer = edit(path, script)
    assert (answer.returncode, said in answer.stderr) == (5, True)
    assert path.read_bytes() == before
    assert list(drafts.iterdir()) == []


def test_an_editor_that_replaces_the_copy_is_understood(path: Path, drafts: Path) -> None:
    answer = edit(path, """sed -i 's/^title: .*/title: Other/' "$1" """)
    assert answer.returncode == 0, answer.stderr
    assert "title: Other\n" in path.read_text(encoding="utf-8")


def test_what_is_odd_after_an_edit_is_said(path: Path, drafts: Path) -> None:
    answer = edit(path, """sed -i /^kind:/d "$1" """)
    assert answer.returncode == 0
    assert "has no kind in its front matter" in answer.stderr


def test_files_of_people_are_edited_and_made_where_they_are_missing(
    path: Path, drafts: Path
) -> None:
    roadmap = path.parents[1] / "roadmap.md"
    roadmap.unlink()
    answer = edit(path, APPEND, "roadmap")
    assert answer.returncode == 0, answer.stderr
    assert roadmap.read_text(encoding="utf-8").startswith("# Roadmap\n")
    assert edit(path, """printf 'All.\\n' > "$1" """, "roadmap.md").returncode == 0
    assert roadmap.read_text(encoding="utf-8") == "All.\n"


def test_inside_an_instance_people_s_files_and_removal_are_refused(
    path: Path, drafts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    answer = edit(path, APPEND, "direction")
    assert answer.returncode == 2
    assert "hint: on the host: cspace context edit direction" in answer.stderr
    answer = cspace("context", "rm", SLUG, "--yes", cwd=path.parents[3])
    assert (answer.returncode, path.exists()) == (2, True)
    assert "not inside an instance" in answer.stderr


@pytest.mark.parametrize(
    ("variables", "code", "said"),
    [
        ({}, 2, "neither VISUAL nor EDITOR is set"),
        ({"EDITOR": " "}, 2, "neither VISUAL nor EDITOR is set"),
        ({"VISUAL": "'"}, 2, "VISUAL is not a command"),
        ({"EDITOR": "no-such-editor"}, 5, "no-such-editor: program not found"),
        ({"EDITOR": "true; touch ran"}, 5, "true;: program not found"),
    ],
)
def test_an_editor_that_is_none_is_said_and_no_shell_reads_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], code: int, said: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    answer = cspace("context", "edit", SLUG, cwd=path.parents[3])
    assert (answer.returncode, said in answer.stderr) == (code, True), answer.stderr
    assert not (path.parents[3] / "ran").exists()


def test_an_interrupt_is_the_editors_own_matter(path: Path, drafts: Path) -> None:
    """On a terminal ^C goes to both; the editor lives on, and so do we."""
    editor = make_editor(path.parents[4], f"trap '' INT\nkill -INT $PPID\n{APPEND}")
    done = on_terminal("context", "edit", SLUG, cwd=path.parents[3], EDITOR=editor)
    assert done.code == 0, done.err
    assert path.read_text(encoding="utf-8").endswith("mine\n")


def test_on_a_terminal_the_editor_has_it(path: Path, drafts: Path) -> None:
    editor = make_editor(path.parents[4], """test -t 0 && test -t 1 && read line && echo $line""")
    done = on_terminal(
        *("context", "edit", SLUG), cwd=path.parents[3], said=b"hello\n", EDITOR=editor
    )
    assert (done.code, "hello\nhello\n" in done.out) == (0, True), done.err


def test_a_kill_while_the_editor_is_open_leaves_the_copy(path: Path, drafts: Path) -> None:
    editor = make_editor(path.parents[4], f"{APPEND}\nkill -KILL $PPID")
    words = (sys.executable, "-m", "cspace.cli.app", "context", "edit", SLUG)
    done = subprocess.run(
        words, cwd=path.parents[3], env=os.environ | {"EDITOR": editor}, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    (mine,) = kept(drafts)
    assert mine.endswith("mine\n")


def remove(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return cspace("context", "rm", *words, cwd=path.parents[3])


def test_records_are_removed_by_their_whole_slugs(path: Path, clock: Clock) -> None:
    store = ContextStore(path.parents[3], clock=clock)
    other = path.parents[3] / store.log_discovery(Discovery("Zones", "f", "i")).path
    answer = remove(path, SLUG, f"decision/{SLUG}", f"discovery/{other.stem}", "--yes", "--json")
    assert answer.returncode == 0, answer.stderr
    paths = [str(one.relative_to(path.parents[3])) for one in (path, other)]
    assert json.loads(answer.stdout) == {"schema_version": 1, "removed": paths, "kept": []}
    assert not path.exists()
    assert not other.exists()


@pytest.mark.parametrize("word", ["use-sqlite", "2026-04-14-nothing", "roadmap", "../x", ""])
def test_no_record_goes_when_one_name_is_wrong(path: Path, word: str) -> None:
    answer = remove(path, SLUG, word, "--yes")
    assert (answer.returncode, answer.stdout) == (3, "")
    assert path.exists()


def test_a_file_with_a_name_of_its_own_is_left_to_its_owner(path: Path) -> None:
    foreign = path.with_name("My Notes.md")
    foreign.touch()
    answer = remove(path, SLUG, "My Notes", "--yes")
    assert answer.returncode == 2
    assert f"hint: remove it yourself: rm -- '{foreign}'" in answer.stderr
    assert path.exists()


def test_what_is_no_file_is_not_removed(path: Path) -> None:
    path.with_name("2026-04-14-a.md").mkdir()
    answer = remove(path, SLUG, "2026-04-14-a", "--yes")
    assert (answer.returncode, "not a regular file" in answer.stderr) == (1, True)
    assert path.exists()


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_without_a_terminal_and_a_yes_nothing_is_removed(
    path: Path, words: tuple[str, ...]
) -> None:
    answer = remove(path, SLUG, *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "nothing was removed: nobody is there to ask" in answer.stderr
    assert f"cspace context rm {SLUG} {' '.join((*words, '--yes'))}" in answer.stderr
    assert path.exists()


@pytest.mark.parametrize(
    ("said", "code", "left"), [(b"y\n", 0, 0), (b"\n", 1, 1), (b"\x04", 130, 1)]
)
def test_on_a_terminal_it_shows_what_goes_and_asks(
    path: Path, said: bytes, code: int, left: int
) -> None:
    text = path.read_text(encoding="utf-8").replace("Use SQLite", '"Use\\e[2J SQLite"')
    path.write_text(text, encoding="utf-8")
    seen = on_terminal("context", "rm", SLUG, cwd=path.parents[3], said=said)
    assert f"  decision/{SLUG}  Use\\x1b[2J SQLite\nRemove 1 record?" in seen.err
    assert (seen.code, len(list(path.parent.glob("*.md")))) == (code, left)
