"""A project whose context is recorded, with an instance that has a journal."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from cspace import git
from cspace.context.journal import FileJournal
from cspace.context.records import Category, Decision, Finding, Kind, Origin
from cspace.context.store import ContextStore
from cspace.events import Event
from cspace.lifecycle import context_restore
from cspace.lifecycle.context_restore import Restored
from cspace.lifecycle.recorded_context import Recorder
from cspace.paths import instance_paths
from cspace.project import find_project
from tests.conftest import Clock

Contents = dict[str, bytes]


@dataclass(slots=True)
class Brain:
    """The host's side and an agent's side of one context, on one clock."""

    root: Path
    user: Path
    clock: Clock
    events: list[Event] = field(default_factory=list)

    @property
    def recorder(self) -> Recorder:
        return Recorder(find_project(self.root), self.user, self.events.append, self.clock)

    @property
    def journal(self) -> Path:
        """The directory of mercury's journal."""
        return instance_paths(self.user, find_project(self.root).id, "mercury").journal

    @property
    def agent(self) -> ContextStore:
        """The store as mercury's agent has it."""
        journal = FileJournal(self.journal, "mercury")
        return ContextStore(self.root, Origin("mercury", "mercury"), None, self.clock, journal)

    @property
    def host(self) -> ContextStore:
        """The store as the host has it."""
        journal = FileJournal(self.root / ".git/cspace")
        return replace_origin(ContextStore(self.root, clock=self.clock, journal=journal))

    def find(self, title: str, summary: str = "s") -> str:
        """Log a finding as the agent, a second later; return its slug."""
        self.clock.advance(seconds=1)
        return self.agent.log_finding(Finding(title, Category.BUG, summary)).slug

    def decide(self, title: str, text: str = "d") -> str:
        self.clock.advance(seconds=1)
        return self.agent.log_decision(Decision(title, "c", "a", text, "q")).slug

    def append(self, slug: str, note: str, status: str | None = None) -> None:
        self.clock.advance(seconds=1)
        self.agent.append_to_finding(slug, note, status=status)

    def record(self) -> list[str]:
        """Record a second later; return what was said."""
        self.clock.advance(seconds=1)
        self.events.clear()
        self.recorder.record()
        return [event.detail for event in self.events]

    def restore(self, name: str | None = None, at: str | None = None) -> Restored:
        """Record, plan and apply, as the command does."""
        self.record()
        time = context_restore.parse_moment(at) if at else None
        planned = context_restore.plan_restore(self.recorder, name, time)
        self.clock.advance(seconds=1)
        return context_restore.apply_restore(self.host, planned, self.recorder)

    def planned(self, name: str | None = None) -> list[tuple[str, str]]:
        plan = context_restore.plan_restore(self.recorder, name, None)
        return [(one.step.value, one.entry) for one in plan]

    def contents(self) -> Contents:
        """Return every record's bytes by its path below the context."""
        place = self.root / ".cspace/context"
        return {
            str(path.relative_to(place)): path.read_bytes()
            for kind in Kind
            for path in sorted((place / kind.plural).glob("*.md"))
        }

    def wipe(self) -> None:
        """Do what a careless agent does."""
        subprocess.run(["sh", "-c", "rm -rf .cspace/context/*/*.md"], cwd=self.root, check=True)

    def commit(self) -> None:
        git.git(self.root, "add", "--all")
        git.git(self.root, "commit", "--quiet", "--message", "Context")


def replace_origin(store: ContextStore) -> ContextStore:
    return replace(store, origin=Origin("ann"))
