"""Where a change of a memory is shown, asked for, and written: these very bytes, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cspace.cli import render
from cspace.cli.ask import confirm_write
from cspace.cli.memory_scope import CLAUDE
from cspace.deps import Deps
from cspace.errors import Conflict, UsageError
from cspace.memory.here import Wanted
from cspace.memory.scopes import Scope

if TYPE_CHECKING:  # they load YAML
    from cspace.memory.changes import Change
    from cspace.memory.diff import Diff
    from cspace.memory.store import MemoryStore
    from cspace.memory.writer import Written


@dataclass(frozen=True, slots=True)
class Desk:
    """One scope that a person changes.

    Attributes:
        wanted: how it was named; a project gets its name for good with the first write, not before.
        yes: nobody is asked.
    """

    deps: Deps
    wanted: Wanted
    store: MemoryStore
    scope: Scope
    yes: bool
    as_json: bool

    @classmethod
    def at(cls, deps: Deps, wanted: Wanted, *, yes: bool, as_json: bool) -> Desk:
        """Open the scope that was named.

        Raises:
            UsageError: this is an instance, or it is a scope that nobody can change.
        """
        if wanted.scope == CLAUDE:
            raise UsageError(
                "scope 'claude' is Claude Code's own memory, which cspace only reads",
                hint="name another one: --scope user",
            )
        store = deps.memory_to_change()
        return cls(deps, wanted, store, deps.here.get(wanted), yes, as_json)

    def beside(self, wanted: Wanted) -> Desk:
        """Open another scope, with the same answers."""
        return replace(self, wanted=wanted, scope=self.deps.here.get(wanted))

    def apply(self, change: Change, before: bytes | None, after: bytes | None) -> None:
        """Show a change, ask, and write it.

        Raises:
            UsageError: nobody is there to ask.
            CspaceError: the answer is no.
            Conflict: the memory is no longer what was shown.
        """
        from cspace.memory.changes import revision_of  # noqa: PLC0415  loads YAML
        from cspace.memory.diff import render_diff  # noqa: PLC0415

        name = f"{change.scope}/{change.slug}"
        diff = render_diff(before, after, f"{name}.md")
        self._ask(diff, f"{'Remove' if after is None else 'Write'} {name}?")
        self._claim()
        written = self.store.write(change, after, revision_of(before))
        self._tell(written, diff, f"{'removed' if after is None else 'wrote'} {name}")

    def change(self, change: Change) -> None:
        """Make a change of what is there; errors as for `apply`.

        With `yes` under the scope's lock, so that of many scripts each finds its turn.
        """
        from cspace.memory.changes import apply_change  # noqa: PLC0415  as above
        from cspace.memory.diff import render_diff  # noqa: PLC0415

        before = self.store.find(self.scope, change.slug)
        # Also with yes, so that what can not be leaves no trace of a try.
        after = apply_change(before, change, self.store.now())
        if not self.yes:
            self.apply(change, before, after)
            return
        self._claim()
        diffs: list[Diff] = []
        name = f"{change.scope}/{change.slug}"

        def see(before: bytes | None, after: bytes | None) -> None:
            diffs.append(render_diff(before, after, f"{name}.md"))

        written = self.store.change(change, see)
        self._show(diffs[-1])
        self._tell(written, diffs[-1], f"wrote {name}")

    def move(self, slug: str, target: Desk, new: str) -> None:
        """Show a memory under its new name, ask, and move it; errors as for `apply`."""
        from cspace.memory.changes import rename_in, revision_of  # noqa: PLC0415  as above
        from cspace.memory.diff import render_diff  # noqa: PLC0415

        before = self.store.read(self.scope, slug)
        old_name, new_name = f"{self.scope}/{slug}", f"{target.scope}/{new}"
        moved = f"{old_name} to {new_name}"
        after = rename_in(before, slug, new)
        diff = render_diff(before, after, f"{new_name}.md", f"{old_name}.md")
        self._ask(diff, f"Move {moved}?")
        target._claim()
        source = self.scope, slug
        written = self.store.move(source, (target.scope, new), revision_of(before) or "")
        self._tell(written, diff, f"moved {moved}")

    def _show(self, diff: Diff) -> None:
        if not self.as_json:
            render.show_lines(diff.lines)
        for one in diff.hidden:
            render.note(f"note: line {one.line} gets a character that can not be seen: {one.name}")

    def _ask(self, diff: Diff, question: str) -> None:
        self._show(diff)
        if not self.yes:
            confirm_write(render.printable(question), as_json=self.as_json)

    def _claim(self) -> None:
        """Give this project its name.

        Raises:
            Conflict: another repository took it since the diff was shown.
        """
        claimed = self.deps.here.get(self.wanted, claim=True)
        if claimed != self.scope:
            raise Conflict(
                f"this project's memory is now {claimed}, and no longer {self.scope}",
                hint="the same command again",
            )

    def _tell(self, written: Written, diff: Diff, said: str) -> None:
        if self.as_json:
            told = render.plain(written) | {"scope": str(written.scope)}
            render.show_json(written=told, diff=diff.lines)
        else:
            render.show_lines([said])
