"""`make demo`, as the README shows it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace import proc
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.docker


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return an environment with a demo directory of its own; its instances are removed."""
    place = tmp_path / "demo"
    environment = os.environ | {"CSPACE_DEMO": str(place)}
    yield environment
    if place.is_dir():
        cspace = CHECKOUT / ".venv/bin/cspace"
        proc.run(cspace, "down", "--all", cwd=place, env=environment)


def test_the_demo_shows_a_shared_decision_and_can_be_run_again(demo: dict[str, str]) -> None:
    for _ in range(2):
        said = proc.run("make", "-C", CHECKOUT, "demo", env=demo).text
        assert "cspace-context: cspace context-server - ✔ Connected" in said
        assert said.count("keep-prices-in-cents") >= 2
    assert len(list(Path(demo["CSPACE_DEMO"]).glob(".cspace/context/decisions/*.md"))) >= 1
