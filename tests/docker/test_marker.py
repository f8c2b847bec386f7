"""A test that is marked docker reaches the engine from its sealed environment."""

from __future__ import annotations

import pytest

from cspace import proc

pytestmark = pytest.mark.docker


def test_a_sealed_test_reaches_the_engine_that_the_developer_uses() -> None:
    assert proc.run("docker", "version", "--format", "{{.Server.Version}}").text
