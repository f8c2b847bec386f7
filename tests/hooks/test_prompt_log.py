"""The log of prompts: off until asked for, private, and without secrets."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cspace.errors import CspaceError
from cspace.hooks.prompt_log import MOST_BYTES, Prompt, PromptLog
from tests.leaks.samples import mixed

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> PromptLog:
    return PromptLog(tmp_path)


def test_nothing_is_kept_until_it_is_switched_on(log: PromptLog) -> None:
    log.add("first", "s", NOW)
    assert list(log.common.iterdir()) == []
    log.switch_on(None)
    log.add("second\nline", "s", NOW)
    assert log.switch_off()
    log.add("third", "s", NOW)
    assert list(log.read()) == [Prompt(NOW.isoformat(), "s", "second\nline")]
    assert not log.switch_off()


def test_only_its_owner_can_read_it_even_where_somebody_widened_it(log: PromptLog) -> None:
    log.switch_on(None)
    log.path.chmod(0o644)
    log.add("text", "s", NOW)
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_a_prompt_with_a_secret_hazard_it_is_not_written(log: PromptLog) -> None:
    log.switch_on(None)
    token = "ghp" + "_" + mixed(36)
    log.add(f"use {token} to push", "s", NOW)
    assert token[4:12] not in log.path.read_text(encoding="utf-8")
    [kept] = log.read()
    assert (kept.text, kept.withheld) == (None, ("github-token in line 1, column 5",))


@pytest.mark.parametrize("name", ["prompts.jsonl", "prompts.on"])
def test_a_link_in_its_place_hazard_nothing_behind_it_is_written(
    log: PromptLog, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("private", encoding="utf-8")
    log.path.parent.mkdir()
    (log.path.parent / name).symlink_to(outside)
    with pytest.raises((CspaceError, OSError)):
        log.switch_on(None)
    assert outside.read_text(encoding="utf-8") == "private"


def test_a_full_log_hazard_it_grows_no_further(log: PromptLog) -> None:
    log.switch_on(None)
    with log.path.open("wb") as file:
        file.truncate(MOST_BYTES)
    with pytest.raises(CspaceError, match="is full"):
        log.add("text", "s", NOW)
    assert log.path.stat().st_size == MOST_BYTES


def test_lines_that_are_none_of_ours_are_left_out(log: PromptLog) -> None:
    log.switch_on(None)
    log.path.write_bytes(b'{\n[]\n3\n\xff\n{"time": 1}\n')
    log.add("text", "s", NOW)
    assert [one.text for one in log.read()] == ["text"]
