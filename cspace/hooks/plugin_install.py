"""The plugin on this host: its files, and what Claude Code knows of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace.files import Owner
from cspace.hooks.claude_program import Claude
from cspace.hooks.plugin import ID, is_written, remove_plugin, write_plugin


@dataclass(frozen=True, slots=True)
class PluginState:
    """How far the plugin is installed.

    Attributes:
        files: its files are there, and of this version.
        registered: Claude Code reads them there.
        enabled: None where Claude Code has no such plugin.
    """

    files: bool
    registered: bool
    enabled: bool | None

    @property
    def is_whole(self) -> bool:
        return self.files and self.registered and bool(self.enabled)

    @property
    def word(self) -> str:
        """Say it in a word: installed, outdated, disabled or absent."""
        if not self.registered or self.enabled is None:
            return "absent"
        if not self.enabled:
            return "disabled"
        return "installed" if self.files else "outdated"


@dataclass(frozen=True, slots=True)
class Installation:
    """What installs the plugin, and takes it out again.

    Attributes:
        directory: of ours, with nothing else in it.
        files: what belongs there.
    """

    directory: Path
    files: dict[PurePosixPath, str]
    claude: Claude

    def state(self) -> PluginState:
        """Look how far it is installed.

        Raises:
            CommandFailed: Claude Code can not say.
        """
        known = self.claude.registration()
        return PluginState(
            is_written(self.directory, self.files),
            known.source == str(self.directory),
            known.enabled,
        )

    def plan(self, state: PluginState) -> Iterator[str]:
        """Yield what `install` will do, a line each."""
        if not state.files:
            yield f"write {len(self.files)} files below {self.directory}"
        if not state.registered:
            yield f"run {self.claude.program} plugin marketplace add {self.directory}"
        if not state.enabled:
            yield f"run {self.claude.program} plugin install {ID} --scope user"

    def install(self, owner: Owner | None) -> None:
        """Bring it all to this version; what is so already stays.

        Raises:
            CspaceError: something is in the way, or Claude Code refused; the same again goes on.
        """
        write_plugin(self.directory, self.files, owner)
        self.claude.register(self.directory)

    def uninstall(self) -> bool:
        """Undo it; return whether there was anything.

        Raises:
            CspaceError: as for `install`.
        """
        known = self.claude.unregister(self.directory)
        return remove_plugin(self.directory) or known
