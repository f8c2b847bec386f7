"""Our hook in settings of Claude Code's: it comes and goes, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.hooks.installation import (
    BrokenSettings,
    Installed,
    hook_command,
    install,
    installed,
    uninstall,
)

COMMAND = hook_command("/usr/bin/python3")
OTHER = {"matcher": "Bash", "hooks": [{"type": "command", "command": "cspace-of-mine"}]}
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(st.text().filter(lambda key: key != "hooks"), VALUES, max_size=4)
GROUPS = st.lists(st.just(OTHER) | VALUES, min_size=1, max_size=3)
EVENTS = st.dictionaries(
    st.sampled_from(["Stop", "PreToolUse", "SessionStart"]), GROUPS, min_size=1, max_size=3
)


def commands(text: str) -> list[str]:
    groups = json.loads(text)["hooks"]["SessionStart"]
    return [hook["command"] for group in groups for hook in group["hooks"]]


@given(
    DOCUMENTS, st.none() | EVENTS, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans(),
    st.booleans(), st.sampled_from(["", "\n", "\r\n"]),
)  # fmt: skip
def test_whatever_stands_there_it_is_the_same_again_after_install_and_uninstall(
    document: dict[str, Any],
    hooks: dict[str, Any] | None,
    indent: int | str | None,
    ascii_only: bool,  # noqa: FBT001
    crlf: bool,  # noqa: FBT001
    end: str,
) -> None:
    whole = document | ({"hooks": hooks} if hooks else {})
    text = json.dumps(whole, indent=indent, ensure_ascii=ascii_only) + end
    text = text.replace("\n", "\r\n") if crlf else text
    changed = install(text, COMMAND)
    assert install(changed, COMMAND) == changed
    assert installed(changed, COMMAND) is Installed.YES
    assert list(json.loads(changed)) == list(whole) + ([] if hooks else ["hooks"])
    assert json.loads(changed)["hooks"]["SessionStart"][-1]["hooks"][0]["command"] == COMMAND
    assert uninstall(changed) == text
    assert uninstall(text) == text


@pytest.mark.parametrize("text", ["", " \n", "{}", "\ufeff{}"])
def test_settings_that_say_nothing_get_the_hook_in_two_spaces(text: str) -> None:
    changed = install(text, COMMAND)
    assert changed.removeprefix("\ufeff").startswith('{\n  "hooks": {\n    "SessionStart": [\n')
    assert changed.startswith("\ufeff") == text.startswith("\ufeff")
    assert commands(changed.removeprefix("\ufeff")) == [COMMAND]


def test_numbers_escapes_and_lists_stay_as_their_author_wrote_them() -> None:
    text = '{ "a": 1.50, "b": [1,2,   3], "c": "\\u00e9",\n  "d": {} }\n'
    changed = install(text, COMMAND)
    assert changed.startswith('{ "a": 1.50, "b": [1,2,   3], "c": "\\u00e9",\n  "d": {}')
    assert uninstall(changed) == text


def test_the_path_of_an_older_python_is_replaced_in_its_place() -> None:
    old = install('{\n  "hooks": {"SessionStart": []},\n  "z": 1\n}', hook_command("/old/python"))
    assert installed(old, COMMAND) is Installed.OLD
    assert install(old, COMMAND) == old.replace("/old/python", "/usr/bin/python3")


def test_of_several_of_ours_one_is_left_and_a_persons_beside_them_stays() -> None:
    ours = {"type": "command", "command": COMMAND}
    mine = {"type": "command", "command": "mine"}
    groups = [{"hooks": [ours, mine]}, {"hooks": [ours]}, {"hooks": [mine, ours]}]
    changed = install(json.dumps({"hooks": {"SessionStart": groups}}), COMMAND)
    assert commands(changed) == ["mine", "mine", COMMAND]
    assert commands(uninstall(changed)) == ["mine", "mine"]


@pytest.mark.parametrize(
    "command", ["x -m cspace.hooks memory --more", "python -m cspace.hooks session-start", "echo"]
)
def test_what_only_looks_like_ours_stays(command: str) -> None:
    group = {"hooks": [{"type": "command", "command": command}]}
    text = json.dumps({"hooks": {"SessionStart": [group]}})
    assert uninstall(text) == text
    assert commands(install(text, COMMAND)) == [command, COMMAND]


BROKEN = (
    *("{", "[]", "3", "{} {}", '{"a": NaN}', '{"hooks": []}', '{"hooks": {"SessionStart": {}}}'),
    *("[" * 100_000, '{"a": 1,}', "// a comment\n{}", '{"hooks": null}'),
)


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_settings_that_are_broken_are_refused(text: str) -> None:
    with pytest.raises(BrokenSettings):
        install(text, COMMAND)
    with pytest.raises(BrokenSettings):
        uninstall(text)


def test_a_python_with_odd_characters_in_its_path_is_one_word_for_the_shell() -> None:
    assert hook_command("/my dir/py'thon").startswith("'/my dir/py'\"'\"'thon' -I -m")
