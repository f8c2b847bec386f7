"""The context is committed alone: nothing of the user's index, and no program of a repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.context.commit import Committed, Wanted, commit_context
from cspace.context.commit_message import MAX_AUTHORS, Action, Changed, dump_message
from cspace.context.records import Category, Decision, Finding, Kind, Origin
from cspace.context.skeleton import ensure_skeleton
from cspace.context.store import ContextStore
from cspace.errors import CommandFailed, Conflict, CspaceError, UsageError
from cspace.events import ignore
from cspace.lifecycle.context_commit import commit_shared
from cspace.lifecycle.shared_context import open_context
from tests.conftest import Clock

Git = Callable[..., str]
CONTEXT = Path(".cspace/context")
CSPACE = (sys.executable, "-m", "cspace.cli.app")


@pytest.fixture
def git(repo: Path) -> Git:
    return lambda *words, at=repo: proc.run("git", "-C", at, *words).text


@pytest.fixture
def store(repo: Path, clock: Clock) -> ContextStore:
    return ContextStore(repo, Origin("ann"), clock=clock)


@pytest.fixture
def slug(store: ContextStore) -> str:
    return store.log_finding(Finding("It fails", Category.BUG, "It does.", author="mercury")).slug


def commit(store: ContextStore, message: str | None = None, **wanted: bool) -> Committed:
    return commit_context(store.root, Wanted(message, **wanted))


def trailers(git: Git, revision: str = "HEAD") -> list[str]:
    return git("log", "-1", "--format=%(trailers)", revision).split("\n")


def files(git: Git, revision: str = "HEAD") -> list[str]:
    return git("show", "--format=", "--name-only", revision).split("\n")


def test_a_commit_holds_only_the_context_and_names_its_authors(
    store: ContextStore, slug: str, git: Git, repo: Path
) -> None:
    store.log_decision(Decision("Use awk", "c", "a", "d", "e"))
    (repo / "README.md").write_text("changed\n")
    done = commit(store)
    assert (done.commit, done.branch) == (git("rev-parse", "HEAD"), "main")
    assert git("log", "-1", "--format=%B") == (
        "Record 1 decision, 1 finding and 3 pages\n\n- direction\n- principles\n- roadmap\n"
        "- Use awk\n- It fails\n\nContext-author: ann\nContext-author: mercury"
    )
    assert all(name.startswith(str(CONTEXT)) and name.endswith(".md") for name in files(git))
    assert git("status", "--porcelain").split("\n") == [" M README.md", "?? .cspace/.gitignore"]


def test_what_the_user_staged_stays_staged_and_is_not_committed(
    store: ContextStore, slug: str, git: Git, repo: Path
) -> None:
    commit(store)
    (repo / "README.md").write_text("staged\n")
    (repo / "new.txt").write_text("staged\n")
    git("add", "README.md", "new.txt")
    (repo / "README.md").write_text("and changed\n")
    before = git("diff", "--cached"), git("diff")
    store.append_to_finding(slug, "more")
    commit(store)
    assert files(git) == [f"{CONTEXT}/findings/{slug}.md"]
    assert (git("diff", "--cached"), git("diff")) == before


def test_an_update_s_author_is_named_and_not_the_finding_s(
    store: ContextStore, slug: str, git: Git
) -> None:
    commit(store)
    store.append_to_finding(slug, "more", author="venus")
    done = commit(store)
    assert done.message == "Update 1 finding\n\n- It fails\n\nContext-author: venus\n"
    assert trailers(git)[0] == "Context-author: venus"


def test_nothing_to_commit_moves_nothing(store: ContextStore, slug: str, git: Git) -> None:
    commit(store)
    head = git("rev-parse", "HEAD")
    assert commit(store) == Committed(None, "main", store.root, "", (), (), ())
    assert git("rev-parse", "HEAD") == head


def test_a_dry_run_writes_nothing(store: ContextStore, slug: str, git: Git) -> None:
    before = git("count-objects"), git("rev-parse", "HEAD"), git("ls-files")
    assert commit(store, dry_run=True).message.startswith("Record 1 finding and 3 pages")
    assert (git("count-objects"), git("rev-parse", "HEAD"), git("ls-files")) == before


def test_what_vanished_is_named_and_only_removed_when_asked(
    store: ContextStore, slug: str, git: Git, repo: Path
) -> None:
    commit(store)
    for path in (repo / CONTEXT).rglob("*.md"):
        path.unlink()
    done = commit(store)
    assert done.commit is None
    assert f"{CONTEXT}/findings/{slug}.md" in done.left
    assert len(done.left) == 4
    assert commit(store, removals=True).message.startswith("Remove 1 finding and 3 pages\n")
    assert git("ls-tree", "-r", "--name-only", "HEAD") == "README.md"
    assert git("diff", "--cached") == ""


def test_a_detached_head_moves_and_no_branch(store: ContextStore, slug: str, git: Git) -> None:
    main = git("rev-parse", "main")
    git("checkout", "-q", "--detach")
    done = commit(store)
    assert (done.branch, done.commit) == (None, git("rev-parse", "HEAD"))
    assert git("rev-parse", "main") == main != done.commit


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_branch_without_a_commit_gets_its_first(
    tmp_path: Path, clock: Clock, object_format: str
) -> None:
    proc.run("git", "init", "-q", f"--object-format={object_format}", tmp_path)
    ensure_skeleton(tmp_path)
    done = commit(ContextStore(tmp_path, Origin("ann"), clock=clock))
    assert proc.run("git", "-C", tmp_path, "rev-parse", "main").text == done.commit
    assert proc.run("git", "-C", tmp_path, "diff", "--cached", "HEAD").text == ""


def test_from_a_linked_worktree_the_main_one_s_branch_gets_it(
    store: ContextStore, slug: str, git: Git, tmp_path: Path, repo: Path
) -> None:
    linked = tmp_path / "linked"
    git("worktree", "add", "-q", "-b", "other", str(linked))
    said = proc.run(*CSPACE, "context", "commit", cwd=linked).text
    assert f"on main in {repo}\n" in said
    assert git("log", "--format=%s", "main", "--not", "other").startswith("Record")
    assert git("rev-parse", "other") != git("rev-parse", "main")


@pytest.mark.parametrize(
    "words", [["merge", "topic"], ["rebase", "topic"], ["cherry-pick", "topic"]]
)
def test_what_is_not_ended_is_refused(
    store: ContextStore, slug: str, git: Git, repo: Path, words: list[str]
) -> None:
    git("checkout", "-q", "-b", "topic")
    for branch in ("topic", "main"):
        git("checkout", "-q", branch)
        (repo / "README.md").write_text(branch)
        git("commit", "-q", "-a", "-m", branch)
    proc.run("git", "-C", repo, *words, ok=(1,))
    head = git("rev-parse", "HEAD")
    with pytest.raises(Conflict, match=f"a {words[0]} is in progress") as refused:
        commit(store)
    assert f"git {words[0]} --abort" in (refused.value.hint or "")
    assert git("rev-parse", "HEAD") == head


def test_an_index_that_is_locked_refuses_before_anything_moved(
    store: ContextStore, slug: str, git: Git, repo: Path
) -> None:
    head = git("rev-parse", "HEAD")
    (repo / ".git/index.lock").touch()
    with pytest.raises(Conflict, match="holds the lock of the index; nothing was committed"):
        commit(store)
    assert git("rev-parse", "HEAD") == head


def test_a_branch_that_cannot_move_leaves_the_index_as_it_was(
    store: ContextStore, slug: str, git: Git, repo: Path
) -> None:
    git("add", "-N", "--", ".cspace/.gitignore")
    before = git("ls-files", "--stage")
    (repo / ".git/refs/heads/main.lock").touch()
    with pytest.raises(Conflict, match="lock of the branch"):
        commit(store)
    assert git("ls-files", "--stage") == before


def test_a_user_whom_git_does_not_know_gets_git_s_own_words(
    store: ContextStore, slug: str, git: Git
) -> None:
    git("config", "user.useConfigOnly", "true")
    git("config", "--global", "--unset", "user.email")
    with pytest.raises(CommandFailed, match=r"user\.email"):
        commit(store)


def test_a_commit_is_signed_where_the_user_signs_commits(
    store: ContextStore, slug: str, git: Git, tmp_path: Path
) -> None:
    program = tmp_path / "gpg"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho SIGNED\n")
    program.chmod(0o755)
    git("config", "gpg.program", str(program))
    git("config", "commit.gpgSign", "true")
    commit(store)
    assert "gpgsig SIGNED" in git("cat-file", "commit", "HEAD")


def test_what_git_ignores_is_named_and_not_committed(
    store: ContextStore, slug: str, git: Git, repo: Path
) -> None:
    (repo / ".gitignore").write_text(".cspace/\n")
    done = commit(store)
    assert done.commit is None
    assert {one.path for one in done.skipped} >= {f"{CONTEXT}/findings/{slug}.md"}
    assert "git check-ignore" in done.skipped[0].reason


def test_an_agent_in_an_instance_does_not_commit(store: ContextStore, repo: Path) -> None:
    inside = ContextStore(repo, Origin("mercury", "mercury"))
    with pytest.raises(UsageError, match="not committed from inside an instance"):
        commit_shared(inside, Wanted())


def test_a_user_s_own_message_keeps_its_trailers_in_one_block(
    store: ContextStore, slug: str, git: Git
) -> None:
    commit(store, "Say it\n\nWhy\n\nReviewed-by: eve <e@x>")
    assert trailers(git)[:2] == ["Reviewed-by: eve <e@x>", "Context-author: mercury"]


def test_commits_at_once_lose_none_and_leave_the_index_clean(
    store: ContextStore, slug: str, git: Git, repo: Path
) -> None:
    commit(store)
    told = []
    for number in range(4):
        for _ in range(3):
            store.append_to_finding(slug, f"note {number}")
        words = (*CSPACE, "context", "commit", "--json")
        told += [subprocess.Popen(words, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE)]
        told += [subprocess.Popen(words, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE)]
    for one in told:
        one.communicate()
    assert {one.returncode for one in told} <= {0, Conflict.exit_code}
    commit(store)
    assert git("status", "--porcelain", "--untracked-files=no") == ""
    made = [one for one in git("log", "--format=%s").split("\n") if one.startswith("Update")]
    assert len(made) >= 1


# What an agent may plant in the store.


def test_titles_and_authors_hazard_forge_no_trailer_and_resolve_nothing(
    store: ContextStore, git: Git, repo: Path
) -> None:
    folder = repo / CONTEXT / "findings"
    folder.mkdir(parents=True)
    (folder / "x.md").write_bytes(
        b'---\ntitle: "one\\n\\nSigned-off-by: title <t@x>\\u202e (cs-finding:other)"\n'
        b'author: "eve\\nSigned-off-by: author <a@x>"\nstatus: open\n---\n\n## Summary\nx\n\n'
        b"## Updates\n### 2026-04-14T10:30:00Z \xe2\x80\x94 @mal: \x1b[2J\rSigned-off-by: u <u@x>"
        b" \xe2\x80\x94 status: open\nnote\n"
    )
    commit(store)
    assert trailers(git) == [
        "Context-author: eve-Signed-off-by- author -a@x",
        "Context-author: mal- -2J-Signed-off-by- u -u@x",
    ]
    message = git("log", "-1", "--format=%B")
    assert (
        "\n- one Signed-off-by: title <t@x>\N{REPLACEMENT CHARACTER} (cs-finding other)\n"
        in message
    )


def test_a_thousand_authors_hazard_are_bounded() -> None:
    names = tuple(f"agent-{number:04}" for number in range(1000))
    message = dump_message((Changed("x", Kind.FINDING, Action.RECORDED, "t" * 999, names),))
    assert message.count("Context-author: ") == MAX_AUTHORS
    assert "and 950 authors more" in message
    assert max(map(len, message.split("\n"))) < 120


def test_hooks_and_filters_hazard_do_not_run(
    store: ContextStore, slug: str, git: Git, repo: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    names = ("pre-commit", "commit-msg", "post-commit", "reference-transaction")
    for name in (*names, "post-index-change", "prepare-commit-msg", "post-rewrite"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >>{marker}\n")
        (hooks / name).chmod(0o755)
    git("config", "filter.evil.clean", f"echo filter >>{marker}; echo changed")
    git("config", "core.autocrlf", "input")
    store.append_to_finding(slug, "ends in CRLF\r\n")
    git("config", "core.fsmonitor", f"echo fsmonitor >>{marker}; false")
    (repo / CONTEXT / ".gitattributes").write_text("*.md filter=evil ident text eol=crlf\n")
    git("add", "--dry-run", ".")  # they do run for git
    assert marker.exists()
    marker.unlink()
    commit(store)
    assert not marker.exists()
    path = f"{CONTEXT}/findings/{slug}.md"
    blob = proc.run("git", "-C", repo, "cat-file", "blob", f"HEAD:{path}").stdout
    assert blob == (repo / path).read_bytes()


def test_links_fifos_and_other_files_hazard_are_not_committed(
    store: ContextStore, slug: str, git: Git, repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret\n")
    findings = repo / CONTEXT / "findings"
    (findings / "link.md").symlink_to(tmp_path / "secret")
    os.mkfifo(findings / "fifo.md")
    (findings / "directory.md").mkdir()
    (findings / "directory.md" / "inner.md").write_text("x")
    for name in ("a.txt", ".hidden.md", "x.md.lock", ".x.md.abc.cspace-tmp", "Makefile"):
        (findings / name).write_text("x")
    done = commit(store)
    assert {Path(one.path).name for one in done.skipped} == {"link.md", "fifo.md", "directory.md"}
    assert {Path(name).name for name in files(git)} == {
        *("direction.md", "principles.md", "roadmap.md"), f"{slug}.md"
    }  # fmt: skip


def test_a_linked_directory_hazard_is_not_followed(
    store: ContextStore, slug: str, repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x.md").write_text("secret\n")
    (repo / CONTEXT / "decisions").rmdir()
    (repo / CONTEXT / "decisions").symlink_to(tmp_path / "outside")
    done = commit(store)
    assert [one.path for one in done.skipped] == [f"{CONTEXT}/decisions"]


def test_a_file_that_became_a_link_hazard_stays_in_git_as_it_was(
    store: ContextStore, slug: str, git: Git, repo: Path, tmp_path: Path
) -> None:
    commit(store)
    path = repo / CONTEXT / "findings" / f"{slug}.md"
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    done = commit(store, removals=True)
    assert (done.commit, done.left, len(done.skipped)) == (None, (), 1)


def test_a_context_that_is_a_submodule_hazard_is_refused(
    store: ContextStore, slug: str, git: Git
) -> None:
    one = git("rev-parse", "HEAD")
    git("update-index", "--add", "--cacheinfo", f"160000,{one},.cspace/context")
    git("commit", "-q", "-m", "Submodule")
    with pytest.raises(CspaceError, match="a file, a link or a submodule"):
        commit(store)


def test_variables_of_a_hook_hazard_do_not_redirect_it(
    store: ContextStore, slug: str, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    done = commit(store)
    monkeypatch.undo()
    assert not (tmp_path / "elsewhere").exists()
    assert done.commit is not None


def test_the_store_of_a_host_is_swept_before_it_is_committed(
    repo: Path, store: ContextStore, slug: str, git: Git
) -> None:
    (repo / CONTEXT / "findings/link.md").symlink_to("/etc/passwd")
    done = commit_shared(open_context(repo, {}, ignore), Wanted())
    assert done.skipped == ()
    assert not (repo / CONTEXT / "findings/link.md").is_symlink()
