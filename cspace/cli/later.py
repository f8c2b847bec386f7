"""Groups whose commands load when somebody asks for one of them, or for all."""

from __future__ import annotations

import importlib
from collections.abc import MutableMapping
from functools import cached_property
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group_from_info
from typer.models import TyperInfo


def load_later(module: str, summary: str) -> typer.Typer:
    """Return a group that stands for the `app` of a module: building all groups doubles a start."""

    class Group(TyperGroup):
        @cached_property
        def _loaded(self) -> MutableMapping[str, Any]:
            info = TyperInfo(importlib.import_module(module).app)
            return get_group_from_info(
                info,
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
