"""`cspace plugin` with the real Claude Code: installed, brought up to date, and taken out again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cspace import proc

pytestmark = pytest.mark.docker

# A host: nothing of an administrator's, and nothing that says that this is an instance.
HOST = """
rm /etc/claude-code/managed-settings.d/60-cspace-plugin.json
mkdir /tmp/home /tmp/configured
cd /tmp/home
export HOME=/tmp/home
unset CLAUDE_CONFIG_DIR
"""
ASK = """
status() { cspace plugin status --json; echo; }
listed() { claude plugin list --json; echo; claude plugin marketplace list --json; echo; }
"""


def on_host(tag: str, script: str) -> list[Any]:
    """Run a script on a host of its own; return the JSON documents that it prints."""
    words = ("--rm", "--network", "none", "--user", "root", "--entrypoint", "bash")
    whole = f"set -euo pipefail\n{HOST}{ASK}{script}"
    said = proc.run("docker", "run", *words, tag, "-c", whole, timeout=120).text
    found, decoder, at = [], json.JSONDecoder(), 0
    while at < len(said.rstrip()):
        document, at = decoder.raw_decode(said, at)
        found.append(document)
        at += len(said[at:]) - len(said[at:].lstrip())
    return found


def test_the_plugin_comes_once_is_mended_and_goes(tag: str) -> None:
    script = """
    status
    cspace plugin install --yes --json
    cspace plugin install --yes --json
    listed
    echo old >>/tmp/home/.cspace/plugin/commands/p.md; status
    claude plugin disable cs@cspace >/dev/null; status
    cspace plugin install --yes --json; status
    cspace plugin uninstall --yes --json
    cspace plugin uninstall --yes --json
    status; listed
    test ! -e /tmp/home/.cspace/plugin
    """
    before, first, again, plugins, markets, old, off, mended, whole, *after = on_host(tag, script)
    assert (before["state"], first["changed"], again["changed"]) == ("absent", True, False)
    assert [(one["id"], one["scope"], one["enabled"]) for one in plugins] == [
        ("cs@cspace", "user", True)
    ]
    assert plugins[0]["readFromFolder"] == markets[0]["path"] == "/tmp/home/.cspace/plugin"
    assert (old["state"], off["state"]) == ("outdated", "disabled")
    assert (mended["changed"], whole["state"]) == (True, "installed")
    gone, twice, absent, *left = after
    assert (gone["changed"], twice["changed"], absent["state"]) == (True, False, "absent")
    assert left == [[], []]


def test_another_directory_of_claudes_is_honoured_and_the_rest_of_its_settings_stays(
    tag: str,
) -> None:
    script = """
    export CLAUDE_CONFIG_DIR=/tmp/configured
    own='{"model": "opus", "enabledPlugins": {"other@there": false}}'
    echo "$own" >/tmp/configured/settings.json
    cspace plugin install --yes 2>/dev/null >/dev/null
    cat /tmp/configured/settings.json
    cspace plugin uninstall --yes 2>/dev/null
    cat /tmp/configured/settings.json
    test ! -e /tmp/home/.claude
    """
    during, after = on_host(tag, script)
    assert during["enabledPlugins"] == {"other@there": False, "cs@cspace": True}
    assert after["enabledPlugins"] == {"other@there": False}
    assert (during["model"], after["model"]) == ("opus", "opus")
    assert not after.get("extraKnownMarketplaces")


def test_a_marketplace_of_our_name_from_elsewhere_is_not_replaced(tag: str) -> None:
    script = """
    cp -r /opt/cspace/plugin /tmp/other
    claude plugin marketplace add /tmp/other >/dev/null
    code=0; cspace plugin install --yes >/dev/null 2>/tmp/said || code=$?
    echo $code
    grep --quiet "claude plugin marketplace remove cspace" /tmp/said
    cspace plugin uninstall --yes --json
    listed
    """
    code, uninstalled, plugins, markets = on_host(tag, script)
    assert (code, uninstalled["changed"], plugins) == (4, True, [])
    assert [one["path"] for one in markets] == ["/tmp/other"]


def test_the_plugin_is_valid_without_a_warning(tag: str) -> None:
    (report,) = on_host(tag, "claude plugin validate --strict --json /opt/cspace/plugin")
    assert report
