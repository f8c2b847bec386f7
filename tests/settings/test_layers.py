"""Variables of the environment as settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cspace.errors import UsageError
from cspace.settings.layers import NOT_SETTINGS, PREFIX
from cspace.settings.load import Loaded, load_settings
from cspace.settings.model import iter_keys


def load(**environ: str) -> Loaded:
    return load_settings(None, home=Path("/nonexistent"), environ=environ)


def value_of(loaded: Loaded, key: str) -> Any:
    value: Any = loaded.settings.model_dump()
    for part in key.split("."):
        value = value[part]
    return value


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("CSPACE_PORTS", "[3000, 3001]", "ports", (3000, 3001)),
        ("CSPACE_LIMITS__CPUS", "2", "limits.cpus", 2.0),
        ("CSPACE_LIMITS__MEMORY", "4g", "limits.memory", "4g"),
        ("CSPACE_LIMITS__PIDS", "null", "limits.pids", None),
        ("CSPACE_NOTES__MODEL", "org/other", "notes.model", "org/other"),
        ("CSPACE_LIMITS", '{"cpus": 0.5}', "limits.cpus", 0.5),
        ("CSPACE_FIREWALL__ENABLED", "false", "firewall.enabled", False),
        ("CSPACE_POST_CREATE", "[ -f Makefile ] && make", "post_create", "[ -f Makefile ] && make"),
        ("CSPACE_POST_CREATE", "", "post_create", ""),
        ("CSPACE_POST_CREATE", "1", "post_create", "1"),
        ("CSPACE_CA_BUNDLE", "/etc/ca.pem", "ca_bundle", Path("/etc/ca.pem")),
        ("CSPACE_CA_BUNDLE", "null", "ca_bundle", None),
        ("CSPACE_BASE_IMAGE", "debian:trixie", "base_image", "debian:trixie"),
        ("CSPACE_READY_TIMEOUT", "60", "ready_timeout", 60),
        ("CSPACE_ENV", '{"A": "1"}', "env.A", "1"),
        ("CSPACE_ENV__Node_Env", "1", "env.Node_Env", "1"),
        ("CSPACE_ENV__A__B", "[1]", "env.A__B", "[1]"),
    ],
)
def test_a_variable_sets_its_key_and_is_its_source(
    variable: str, text: str, key: str, value: object
) -> None:
    loaded = load(**{variable: text})
    assert value_of(loaded, key) == value
    assert loaded.sources[key] == variable


def test_every_key_can_be_set_by_a_variable() -> None:
    for path, _ in iter_keys():
        variable = f"{PREFIX}{'__'.join(path).upper()}"
        if path != ("post_create",):  # takes any text
            with pytest.raises(UsageError, match=f"{variable}: {'.'.join(path)}"):
                load(**{variable: "in valid"})


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("CSPACE_PORTS", "3000", "CSPACE_PORTS: ports is 3000, expected a list"),
        ("CSPACE_PORTS", "[80", 'CSPACE_PORTS: ports is "[80", expected a list'),
        ("CSPACE_LIMITS__CPUS", "", 'CSPACE_LIMITS__CPUS: limits.cpus is "", expected a number'),
        ("CSPACE_FIREWALL__ENABLED", "on", 'is "on", expected true or false'),
        ("CSPACE_POST_CREATE", "\udcff", "CSPACE_POST_CREATE: post_create is not UTF-8 text"),
    ],
)
def test_a_variable_with_a_wrong_value_is_named(variable: str, text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        load(**{variable: text})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("CSPACE_PORT", "CSPACE_PORTS"),
        ("CSPACE_LIMITS_CPUS", "CSPACE_LIMITS__CPUS"),
        ("CSPACE_LIMITS__MEMROY", "CSPACE_LIMITS__MEMORY"),
        ("CSPACE_ENV__", "CSPACE_ENV"),
    ],
)
def test_an_unknown_variable_is_an_error_with_a_suggestion(variable: str, nearest: str) -> None:
    with pytest.raises(UsageError) as refused:
        load(**{variable: "1"})
    assert f'unknown key "{variable}"; the nearest known one is "{nearest}"' in str(refused.value)


def test_variables_that_are_ours_but_no_settings_are_tolerated() -> None:
    ours = dict.fromkeys(NOT_SETTINGS, "1") | {"_CSPACE_COMPLETE": "complete_bash", "PATH": "/bin"}
    sources = dict(load(**ours).sources)
    assert sources.pop("ca_bundle") in ("default", "system")
    assert set(sources.values()) == {"default"}


def test_a_flags_wrong_value_names_the_flag() -> None:
    with pytest.raises(UsageError, match=r"--set limits.memory: limits.memory is 4, expected"):
        load_settings(None, home=Path("/nonexistent"), environ={}, flags={"limits.memory": "4"})
