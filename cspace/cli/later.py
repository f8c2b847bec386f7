"""Groups whose commands load when somebody asks for one of them, or for all."""

from __future__ import annotations

import importlib
from collections.abc import MutableMapping
from functools import cached_property
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command_name, get_group_from_info
from typer.models import CommandInfo, TyperInfo


def load_later(module: str, summary: str) -> typer.Typer:
    """Return a group that stands for the `app` of a module: building all groups doubles a start."""

    class Group(TyperGroup):
        @cached_property
        def _loaded(self) -> MutableMapping[str, Any]:
            return self._build(importlib.import_module(module).app)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Return a command, which is built alone: a large group costs as much as its work."""
            if "_loaded" not in self.__dict__:
                alone = _part_of(importlib.import_module(module).app, cmd_name)
                found = self._build(alone).get(cmd_name)
                if found is not None:
                    return found
            return super().get_command(ctx, cmd_name)

        def _build(self, app: typer.Typer) -> MutableMapping[str, Any]:
            return get_group_from_info(
                TyperInfo(app),
                pretty_exceptions_short=True,
                suggest_commands=self.suggest_commands,
                rich_markup_mode=self.rich_markup_mode,
            ).commands

        @property
        def commands(self) -> MutableMapping[str, Any]:
            return self._loaded

        @commands.setter
        def commands(self, none_yet: object) -> None:
            """Accept what the constructor sets: no commands."""

    return typer.Typer(cls=Group, help=summary, no_args_is_help=True)


def _part_of(app: typer.Typer, name: str) -> typer.Typer:
    """Return the one command of an app, or the one group; none where nothing has that name."""
    part = typer.Typer()
    part.registered_commands = [one for one in app.registered_commands if _name_of(one) == name]
    part.registered_groups = [one for one in app.registered_groups if one.name == name]
    return part


def _name_of(command: CommandInfo) -> str:
    return command.name or get_command_name(getattr(command.callback, "__name__", ""))
