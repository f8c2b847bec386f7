"""A mistake in the settings is named: where, which key, what it is, what it should be."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.errors import UsageError
from cspace.settings.load import load_settings, survey_settings
from cspace.settings.problems import shown


def load(root: Path, **environ: str) -> None:
    load_settings(root, home=root / "home", environ=environ)


def refusal_of(root: Path, text: str | bytes) -> UsageError:
    data = text.encode() if isinstance(text, str) else text
    (root / ".cspace.json").write_bytes(data)
    with pytest.raises(UsageError) as refused:
        load(root)
    assert str(refused.value).startswith(f"{root / '.cspace.json'}")
    assert refused.value.exit_code == 2
    return refused.value


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ('{"prots": [80]}', "prots", "ports"),
        ('{"limits": {"memroy": "4g"}}', "limits.memroy", "limits.memory"),
        ('{"cpus": 4}', "cpus", "limits.cpus"),
        ('{"firewall": {"enabeld": false}}', "firewall.enabeld", "firewall.enabled"),
        ('{"ReadyTimeout": 4}', "ReadyTimeout", "ready_timeout"),
    ],
)
def test_a_setting_without_effect_hazard_an_unknown_key_is_an_error_with_a_suggestion(
    tmp_path: Path, text: str, key: str, nearest: str
) -> None:
    message = str(refusal_of(tmp_path, text))
    assert message.endswith(f': unknown key "{key}"; the nearest known one is "{nearest}"')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"ports": "80"}', 'ports is "80", expected a list of whole numbers from 1 to 65535'),
        ('{"ports": [80, "x"]}', 'ports.1 is "x", expected a list of whole numbers'),
        ('{"ports": [true]}', "ports.0 is true, expected a list of whole numbers"),
        ('{"ports": [0]}', "ports.0 is 0, expected"),
        ('{"ports": [65536]}', "ports.0 is 65536, expected"),
        ('{"limits": null}', "limits is null, expected an object"),
        ('{"limits": {"cpus": "2"}}', 'limits.cpus is "2", expected a number above 0'),
        ('{"limits": {"cpus": 0}}', "limits.cpus is 0, expected a number above 0"),
        ('{"limits": {"cpus": NaN}}', "limits.cpus is NaN, expected a number above 0"),
        ('{"limits": {"memory": "4 GB"}}', 'limits.memory is "4 GB", expected a size like "4g"'),
        ('{"limits": {"cpus": "all"}}', 'limits.cpus is "all", expected a number above 0, "auto"'),
        ('{"limits": {"pids": 1.5}}', "limits.pids is 1.5, expected a whole number above 0"),
        ('{"post_create": ["make"]}', 'post_create is ["make"], expected a text'),
        ('{"post_create": "a\\u0000b"}', 'post_create is "a\\u0000b", expected a text'),
        ('{"ready_timeout": 0}', "ready_timeout is 0, expected a whole number of seconds above 0"),
        ('{"firewall": {"enabled": 0}}', "firewall.enabled is 0, expected true or false"),
        ('{"base_image": "--privileged"}', 'base_image is "--privileged", expected an image'),
        ('{"ca_bundle": "ca.pem"}', 'ca_bundle is "ca.pem", expected the absolute path'),
        ("[]", "the whole is a list, expected an object"),
        ("null", "the whole is null, expected an object"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(
    tmp_path: Path, text: str, said: str
) -> None:
    error = refusal_of(tmp_path, text)
    assert f".cspace.json: {said}" in str(error)
    assert error.hint == "cspace config schema prints every key and what it takes"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", "line 1 column 0"),
        ('{\n  "ports": [80],\n}', "line 3 column 1"),
        ("{'ports': [80]}", "line 1 column 2"),
        (b'{"env": {"A": "\xff"}}', "line 1 column 16"),
        ("[" * 100_000, "line 1 column"),
        ('{"ports": [' + "9" * 5000 + "]}", "line 1 column"),
        ('{"env": {"A": "\\ud800"}}', "line 1 column"),
    ],
)
def test_broken_json_names_line_and_column(
    tmp_path: Path, text: str | bytes, position: str
) -> None:
    message = str(refusal_of(tmp_path, text))
    assert "is not valid JSON: " in message
    assert position in message


@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "token", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_PAT"),
        *("DB_PASSWORD", "DB_PASS", "PGPASSWORD", "MYSQL_PWD", "SSH_PRIVATE_KEY", "SIGNING_KEY"),
    ],
)
def test_secrets_in_env_are_refused_and_never_repeated(tmp_path: Path, name: str) -> None:
    error = refusal_of(tmp_path, f'{{"env": {{"{name}": "hunter2"}}}}')
    assert f"env.{name} looks like a secret" in str(error)
    assert f"~/.cspace/secrets/{name}" in (error.hint or "")
    assert "hunter2" not in f"{error}{error.hint}"


@pytest.mark.parametrize("text", ['["A=hunter2"]', '"A=hunter2"', '{"A": ["hunter2"]}'])
def test_a_value_of_env_is_not_repeated_when_its_type_is_wrong(tmp_path: Path, text: str) -> None:
    message = str(refusal_of(tmp_path, f'{{"env": {text}}}'))
    assert "hunter2" not in message
    assert "expected an object of variable names with texts" in message


@pytest.mark.parametrize("name", ["MAX_OUTPUT_TOKENS", "TOKENIZERS_PARALLELISM", "PWD", "KEYMAP"])
def test_variables_that_only_sound_like_secrets_are_accepted(tmp_path: Path, name: str) -> None:
    environ = {f"CSPACE_ENV__{name}": "1"}
    assert load_settings(None, home=tmp_path, environ=environ).settings.env == {name: "1"}


@pytest.mark.parametrize("name", ["A=B", "", "1A", "A B"])
def test_what_can_not_be_a_variables_name_is_refused(tmp_path: Path, name: str) -> None:
    assert "is not a variable's name" in str(refusal_of(tmp_path, f'{{"env": {{"{name}": ""}}}}'))


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("203.0.113.7", "an address", "the name it belongs to"),
        ("https://example.com", "a URL", "the host's name alone: example.com"),
        ("example.com:8443", "with a port", "the host's name alone: example.com"),
        ("api.*.com", "a * inside", "*.example.com"),
        ("bücher.example", "not ASCII", "xn--bcher-kva.example"),
        ("intranet", "a single label", "the whole name"),
    ],
)
def test_what_is_no_name_of_a_host_is_refused_with_what_to_write(
    tmp_path: Path, text: str, reason: str, hint: str
) -> None:
    error = refusal_of(tmp_path, json.dumps({"firewall": {"domains": ["pypi.org", text]}}))
    assert f"firewall.domains.1 is {json.dumps(text)}, " in str(error)
    assert reason in str(error)
    assert hint in (error.hint or "")


def test_names_are_read_in_lower_case_with_their_subdomains_as_a_leading_dot(
    tmp_path: Path,
) -> None:
    file = tmp_path / ".cspace.json"
    file.write_text('{"firewall": {"domains": ["*.Example.COM", "a.example."]}}', "utf-8")
    loaded = survey_settings(tmp_path, home=tmp_path / "home", environ={})
    assert loaded.untrusted[0].asks[0].value == (".example.com", "a.example")


@given(st.text())
def test_a_hostile_key_or_value_never_reaches_the_terminal_raw(text: str) -> None:
    line = shown(text)
    assert line.isprintable()
    assert len(line) <= 81


def test_a_hostile_key_is_shown_escaped(tmp_path: Path) -> None:
    message = str(refusal_of(tmp_path, '{"\\u001b[2J\\u202e\\n": 1}'))
    assert message.isprintable()
    assert r"\u001b[2J" in message


def test_a_linked_settings_file_of_a_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("{}", encoding="utf-8")
    (tmp_path / ".cspace.json").symlink_to("elsewhere")
    with pytest.raises(UsageError, match="can not be read: it is a link"):
        load(tmp_path)


def test_a_pipe_is_refused_without_hanging(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".cspace.local.json")
    with pytest.raises(UsageError, match="is not a regular file"):
        load(tmp_path)
    (tmp_path / "home/.cspace").mkdir(parents=True)
    os.mkfifo(tmp_path / "home/.cspace/config.json")
    (tmp_path / ".cspace.local.json").unlink()
    with pytest.raises(UsageError, match=r"config\.json is not a regular file"):
        load(tmp_path)


def test_a_directory_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".cspace.json").mkdir()
    with pytest.raises(UsageError, match="is not a regular file"):
        load(tmp_path)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    assert "too large" in str(refusal_of(tmp_path, b" " * 1_000_001))


def test_the_users_own_file_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.json").write_text('{"ports": [80]}', encoding="utf-8")
    (tmp_path / ".cspace").mkdir()
    (tmp_path / ".cspace/config.json").symlink_to(tmp_path / "dotfiles.json")
    assert load_settings(None, home=tmp_path, environ={}).settings.ports == (80,)
