"""The program `claude` on this machine, as far as plugins go. It alone changes its own settings."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cspace import proc
from cspace.errors import MALFORMED, CommandFailed, Conflict, UsageError
from cspace.hooks.plugin import ID, MARKETPLACE

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Registration:
    """What Claude Code knows of our plugin.

    Attributes:
        source: the directory that its marketplace is read from; None where it knows none.
        enabled: None where the plugin is not installed.
    """

    source: str | None
    enabled: bool | None


@dataclass(frozen=True, slots=True)
class Claude:
    """The program, called without a project: what a project sets has no part in this.

    Attributes:
        environ: with CLAUDE_CONFIG_DIR, where a person keeps its settings elsewhere.
    """

    program: Path
    environ: Mapping[str, str]

    def registration(self) -> Registration:
        """Ask what it knows of our plugin.

        Raises:
            CommandFailed: it can not say.
        """
        market = _find(self._ask("marketplace", "list"), "name", MARKETPLACE)
        plugin = _find(self._ask("list"), "id", ID)
        source = (market.get("path") or market.get("source") or "?") if market else None
        return Registration(
            None if source is None else str(source),
            bool(plugin.get("enabled")) if plugin else None,
        )

    def register(self, directory: Path) -> None:
        """Have it read the plugin in directory from its next session on; idempotent.

        Raises:
            Conflict: another marketplace has our name.
            CommandFailed: it refused.
        """
        known = self.registration()
        if known.source not in (None, str(directory)):
            raise Conflict(
                f"Claude Code has a marketplace {MARKETPLACE!r} from {known.source}",
                hint=f"if you can do without it: claude plugin marketplace remove {MARKETPLACE}",
            )
        if known.source is None:
            self._run("marketplace", "add", str(directory))
        if not known.enabled:
            self._run("install", ID, "--scope", "user")

    def unregister(self, directory: Path) -> bool:
        """Have it forget what `register` told it; return whether it knew anything.

        Raises:
            CommandFailed: it refused.
        """
        known = self.registration()
        if known.source not in (None, str(directory)):
            return False  # somebody else's
        if known.enabled is not None:
            self._run("uninstall", ID)
        if known.source is not None:
            self._run("marketplace", "remove", MARKETPLACE)
        return known != Registration(None, None)

    def _ask(self, *words: str) -> list[Any]:
        said = self._run(*words, "--json")
        try:
            answer = json.loads(said)
        except MALFORMED:
            answer = None
        if not isinstance(answer, list):
            raise CommandFailed(
                f"{self.program} plugin {' '.join(words)} --json did not answer with a list",
                hint="this Claude Code may be too old for plugins: claude --version",
            )
        return answer

    def _run(self, *words: str) -> str:
        where = Path("/")
        env = dict(self.environ)
        return proc.run(self.program, "plugin", *words, cwd=where, env=env, timeout=SECONDS).text


def find_claude(environ: Mapping[str, str]) -> Claude:
    """Find the program on PATH.

    Raises:
        UsageError: there is none.
    """
    found = shutil.which("claude", path=environ.get("PATH", os.defpath))
    if found is None:
        raise UsageError(
            "there is no program `claude` on PATH to install the plugin for",
            hint="npm install --global @anthropic-ai/claude-code, then: cspace plugin install",
        )
    # Its own directory matters where it is relative.
    config = environ.get("CLAUDE_CONFIG_DIR")
    own = {"CLAUDE_CONFIG_DIR": str(Path(config).absolute())} if config else {}
    return Claude(Path(found).absolute(), {**environ, **own})


def _find(rows: list[Any], key: str, value: str) -> dict[str, Any] | None:
    return next((row for row in rows if isinstance(row, dict) and row.get(key) == value), None)
