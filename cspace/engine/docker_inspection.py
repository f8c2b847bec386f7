"""A doctor's questions, to the API and through `docker exec`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cspace import proc
from cspace.clock import parse_time
from cspace.engine.inspection_model import Facts
from cspace.engine.translation import translated

# A probe answers in one line; an agent may have put itself in its place.
ANSWER_BYTES = 256 * 1024
_CODES = tuple(range(-64, 256))


class DockerInspection:
    """The Inspection protocol over one daemon."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def facts(self) -> Facts:
        with translated():
            found = self._api.info()
        return Facts(
            version=str(found["ServerVersion"]),
            root=Path(found["DockerRootDir"]),
            time=parse_time(str(found.get("SystemTime", ""))),
        )

    def ask(self, container: str, argv: Sequence[str], *, timeout: float) -> proc.Result:
        words = ("docker", "exec", container, *argv)
        asked = proc.start_limited(*words, limit=ANSWER_BYTES, ok=_CODES, timeout=timeout)
        with asked as answer:
            return answer()
