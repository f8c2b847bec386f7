"""Makes git merge findings by our driver, where a person asked for it, and takes that back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath, files, git_commits
from cspace.context.records import ROOT, Kind
from cspace.errors import Conflict, CspaceError
from cspace.git import Worktree, config_value
from cspace.git_config import Setting, apply_values, plan_values

DRIVER = "cspace-context"
SETTINGS = {
    f"merge.{DRIVER}.name": "joins the updates of a finding",
    f"merge.{DRIVER}.driver": "cspace context merge-driver %O %A %B %P",
}
FINDINGS = ROOT / Kind.FINDING.plural
LINE = f"/{FINDINGS}/*.md merge={DRIVER}"
_ATTRIBUTES = PurePosixPath("info/attributes")


@dataclass(frozen=True, slots=True)
class Configured:
    """What changed, or would; and why it may have no effect, one sentence each."""

    changes: tuple[Setting, ...]
    notices: tuple[str, ...]


def configure(worktree: Worktree, *, undo: bool = False, dry_run: bool = False) -> Configured:
    """Add the driver to the repository's own configuration and attributes, or take it out.

    Nothing but our two keys and our line changes; what is so already stays.

    Raises:
        Conflict: somebody gave one of our keys another value; nothing was changed.
        CspaceError: the attributes are no regular file; nothing was changed.
    """
    keys = _plan_keys(worktree, undo=undo)
    attributes = _Attributes.load(worktree.common_directory)
    line = attributes.plan(undo=undo)
    if not dry_run:
        apply_values(worktree.top, keys)
        if line:
            attributes.save(undo=undo)
    changes = (*keys, *([line] if line else []))
    return Configured(changes, () if undo or dry_run else _list_notices(worktree))


def _plan_keys(worktree: Worktree, *, undo: bool) -> tuple[Setting, ...]:
    for key, value in SETTINGS.items():
        known = git_commits.local_config(worktree.top, key)
        if not undo and known and set(known) != {value}:
            raise Conflict(
                f"{key} is {known[-1]!r} in this repository's configuration, which is not ours",
                hint=f"look at it, then take it out: git config --local --unset-all {key}",
            )
    # What is not our value is not ours to take out.
    return plan_values(worktree.top, worktree.common_directory, SETTINGS.items(), undo=undo)


def _list_notices(worktree: Worktree) -> tuple[str, ...]:
    """Say what stands in another place and wins: a work tree's configuration, a later line."""
    notices = [
        f"{key} is {value!r} by a configuration that comes later:"
        f" git config --show-origin --get-all {key}"
        for key in SETTINGS
        if (value := config_value(worktree.top, key)) != SETTINGS[key]
    ]
    used = git_commits.attribute(worktree.top, "merge", f"{FINDINGS}/x.md")
    if used != DRIVER:
        where = worktree.common_directory / _ATTRIBUTES
        notices.append(f"findings are merged by {used!r}: another line in {where} comes later")
    return tuple(notices)


@dataclass(frozen=True, slots=True)
class _Attributes:
    """The attributes that are this repository's alone; content is None where there are none."""

    common: Path
    content: bytes | None

    @classmethod
    def load(cls, common: Path) -> _Attributes:
        try:
            return cls(common, beneath.read_file(common, _ATTRIBUTES))
        except FileNotFoundError:
            return cls(common, None)
        except OSError as error:
            raise CspaceError(
                f"{common / _ATTRIBUTES}: {error.strerror}: a link or another file is in the way",
                hint=f"look at it: ls -ld {common / _ATTRIBUTES}",
            ) from error

    def plan(self, *, undo: bool) -> Setting | None:
        present = LINE.encode() in (self.content or b"").split(b"\n")
        if present != undo:
            return None
        before, after = (LINE, None) if undo else (None, LINE)
        return Setting(str(self.common / _ATTRIBUTES), "", before, after)

    def save(self, *, undo: bool) -> None:
        lines = [] if self.content is None else self.content.split(b"\n")
        if undo:
            lines.remove(LINE.encode())
        elif lines and lines[-1]:
            # Ours has no line end either, so that taking it out gives the same bytes again.
            lines.append(LINE.encode())
        else:
            lines[-1:] = [LINE.encode(), b""]
        written = b"\n".join(lines)
        with beneath.pinned(self.common, _ATTRIBUTES.parent, create=True) as directory:
            path = directory / _ATTRIBUTES.name
            if undo and not written:
                path.unlink()
            else:
                mode = path.stat().st_mode & 0o7777 if self.content is not None else 0o644
                files.write_atomic(path, written, mode=mode)
