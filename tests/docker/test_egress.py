"""The life of a project's proxy and of the networks of its instances."""

from __future__ import annotations

import base64
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from cspace import proc
from cspace.deps import Deps
from cspace.engine.docker import DockerEngine
from cspace.engine.model import Container, State
from cspace.engine.sidecar_model import Errand, Network
from cspace.errors import CommandFailed, EngineUnavailable, NotFound
from cspace.events import Event
from cspace.instance import labels
from cspace.instance.image import Image
from cspace.instance.names import composition_name, egress_name
from cspace.instance.plan import Action
from cspace.lifecycle.down import down, plan, stop
from cspace.lifecycle.egress import find_proxy, reload_proxy
from cspace.lifecycle.host import Host
from cspace.lifecycle.leftovers import Kind, Machine, find_leftovers
from cspace.lifecycle.networks import find_network, list_networks
from cspace.lifecycle.prune import prune
from cspace.lifecycle.seal import ensure_seal
from cspace.lifecycle.up import STRANDED, Wish, claim_names, start, up

pytestmark = [
    pytest.mark.docker,
    # The Docker library leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

NAME = "mercury"
BASE = "debian:bookworm-slim"
OPEN = {"firewall.enabled": "false"}


@dataclass
class Seen:
    """What was reported."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def phases(self) -> list[str]:
        """Return the phases that began since the last call."""
        names = [event.phase for event in self.events if event.state == "started"]
        self.events.clear()
        return names


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def settled(repo: Path, seen: Seen) -> Iterator[Callable[..., Host]]:
    """Return what gives the host with some settings; all that it made goes afterwards."""

    def make(**flags: str) -> Host:
        return Deps(repo, dict(os.environ), seen).host(flags)

    yield make
    host = make()
    host.engine.remove_all(labels.of_project(host.project.id))


@pytest.fixture
def host(settled: Callable[..., Host]) -> Host:
    return settled()


def proxy(host: Host) -> Container:
    found = find_proxy(host)
    assert found is not None
    return found


def container(host: Host, name: str = NAME) -> Container:
    found = host.observe(name).container
    assert found is not None
    return found


def network_of(host: Host) -> Network:
    found = find_network(list_networks(host), host, NAME)
    assert found is not None
    return found


def reaches(host: Host, name: str = NAME) -> bool:
    """Tell whether the proxy answers an instance: it refuses what it does not know."""
    words = ("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "http://refused.example/")
    asked = proc.run("docker", "exec", container(host, name).id, *words, ok=tuple(range(256)))
    return asked.text == "403"


def left(host: Host) -> list[str]:
    """Name what the engine and the user's directory still have of the project."""
    marks = labels.of_project(host.project.id)
    things = [one.name for one in host.engine.list_containers(marks)]
    things += [one.name for one in host.engine.networks.list(marks)]
    return things + [str(path) for path in host.egress.directory.parent.glob("[!.]*")]


def test_the_first_up_starts_the_proxy_and_the_last_down_takes_it_away(
    host: Host, seen: Seen
) -> None:
    up(host, NAME, Wish())
    assert seen.phases()[-4:] == ["compose", "network", "egress", "start"]
    up(host, "venus", Wish())
    assert reaches(host)
    assert reaches(host, "venus")
    names = {each.network for each in proxy(host).endpoints}
    expected = {composition_name(host.project.id, name) for name in (NAME, "venus")}
    assert names == expected | {egress_name(host.project.id)}
    down(host, NAME, discard=True)
    assert reaches(host, "venus")
    assert plan(host, "venus", discard=True).steps[-1].action is Action.EGRESS
    down(host, "venus", discard=True)
    assert left(host) == []


def test_a_proxy_that_is_stopped_or_gone_is_repaired_by_an_up_of_what_runs(
    host: Host, seen: Seen
) -> None:
    up(host, NAME, Wish())
    for break_it in (host.engine.stop, host.engine.remove):
        break_it(proxy(host))
        assert not reaches(host)
        seen.phases()
        assert up(host, NAME, Wish()).reused
        assert seen.phases() == ["egress"]
        assert reaches(host)
    assert up(host, NAME, Wish()).reused
    assert seen.phases() == []


def test_a_gate_that_ended_is_started_by_an_up_of_what_runs(
    settled: Callable[..., Host], seen: Seen
) -> None:
    host = settled(ports="[8000]")
    agent = up(host, NAME, Wish()).container
    (gate,) = host.engine.list_containers(labels.of_gate(host.project.id, NAME))
    host.engine.stop(gate)
    seen.phases()
    again = up(host, NAME, Wish())
    assert (again.reused, again.container, len(again.ports)) == (True, agent, 1)
    assert seen.phases() == ["start"]
    (gate,) = host.engine.list_containers(labels.of_gate(host.project.id, NAME))
    assert gate.state is State.RUNNING


def test_a_proxy_that_goes_on_is_attached_again_and_reads_changed_rules(
    host: Host, settled: Callable[..., Host]
) -> None:
    up(host, NAME, Wish())
    before = proxy(host).id
    host.engine.networks.disconnect(network_of(host).id, before)
    assert not reaches(host)
    up(host, NAME, Wish())
    assert reaches(host)
    more = settled(**{"firewall.domains": '["refused.example"]'})
    assert reload_proxy(more)
    assert not reload_proxy(more)
    assert not reaches(host)  # it is allowed now, and is nowhere
    assert proxy(host).id == before


def test_rules_that_the_proxy_was_not_told_of_are_read_after_the_next_call(
    host: Host, settled: Callable[..., Host], seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    up(host, NAME, Wish())
    more = {"firewall.domains": '["refused.example"]'}
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("DOCKER_HOST", "unix:///nowhere")
        away = replace(settled(**more), engine=DockerEngine())
        with pytest.raises(EngineUnavailable):
            reload_proxy(away)
    seen.phases()
    assert reaches(host)  # the proxy still refuses it, as it should no more
    assert up(settled(**more), NAME, Wish()).reused
    assert seen.phases() == ["egress"]
    assert not reaches(host)


class _Company(BaseHTTPRequestHandler):
    """A proxy that answers by itself, and tells what it was asked with which password."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{self.path} {self.headers['Proxy-Authorization']}".encode())

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing."""


def test_the_machines_own_proxy_is_asked_and_its_password_is_seen_nowhere(
    repo: Path, host: Host, seen: Seen
) -> None:
    with ThreadingHTTPServer(("0.0.0.0", 0), _Company) as company:  # noqa: S104  as instances see it
        threading.Thread(target=company.serve_forever, daemon=True).start()
        url = f"http://me:pa%40ss@{_own_address()}:{company.server_port}"
        behind = {**os.environ, "HTTP_PROXY": url, "HTTPS_PROXY": url}
        up(Deps(repo, behind, seen).host({}), NAME, Wish())
        answers = [_ask(host, name) for name in ("pypi.org", "refused.example")]
        company.shutdown()
    assert answers[0] == f"http://pypi.org/ Basic {base64.b64encode(b'me:pa@ss').decode()}"
    assert "cspace net check refused.example" in answers[1]
    told = proc.run("docker", "inspect", container(host).id, proxy(host).id).text
    assert "pa%40ss" not in told
    assert "pa@ss" not in told


def _ask(host: Host, name: str) -> str:
    return proc.run("docker", "exec", container(host).id, "curl", "-sS", f"http://{name}/").text


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
        outward.connect(("192.0.2.1", 9))
        return str(outward.getsockname()[0])


def test_stop_leaves_the_proxy_and_a_start_makes_what_was_pruned_meanwhile(
    host: Host, seen: Seen
) -> None:
    up(host, NAME, Wish())
    assert network_of(host).internal
    assert [each.network_id for each in container(host).endpoints] == [network_of(host).id]
    stop(host, NAME)
    assert proxy(host).state is State.RUNNING
    seen.phases()
    start(host, NAME)
    assert seen.phases() == ["prove", "mounts", "compose", "start"]
    stop(host, NAME)
    host.engine.remove(proxy(host))
    for network in list_networks(host):
        host.engine.networks.remove(network.id)
    assert start(host, NAME).notices == (STRANDED,)
    assert reaches(host)


def test_a_name_that_is_taken_keeps_the_proxy_until_its_own_down(host: Host) -> None:
    up(host, NAME, Wish())
    (other,) = claim_names(host, 1)
    assert plan(host, NAME, discard=True).steps[-1].action is Action.STATE
    down(host, NAME, discard=True)
    assert proxy(host).state is State.RUNNING
    assert [each.kind for each in find_leftovers(_machine(host)) if each.kind is Kind.PROXY] == []
    host.paths(other).state.rmdir()  # as far as a `down` comes that is killed before its end
    with pytest.raises(NotFound):
        down(host, other)
    assert left(host) == []


def test_a_proxy_that_nobody_needs_is_pruned_with_its_network(host: Host) -> None:
    up(host, NAME, Wish())
    machine = _machine(host)
    assert [each for each in find_leftovers(machine) if each.kind is Kind.PROXY] == []
    host.engine.remove_all(labels.of_instance(host.project.id, NAME))
    proc.run("rm", "-r", host.paths(NAME).state)
    found = [each for each in find_leftovers(machine) if each.kind is Kind.PROXY]
    assert [each.what for each in found] == [host.project.id]
    assert prune(machine, found).failed == ()
    assert left(host) == []


def test_the_firewall_is_switched_by_making_the_container_anew(
    host: Host, settled: Callable[..., Host]
) -> None:
    without = settled(**OPEN)
    up(without, NAME, Wish())
    assert find_proxy(host) is None
    assert not reaches(host)
    for present, notice in ((host, 1), (without, 0)):
        assert len(up(present, NAME, Wish()).notices) == notice
    up(host, NAME, Wish(recreate=True))
    assert reaches(host)
    network = network_of(host)
    assert network.internal
    up(without, NAME, Wish(recreate=True))
    assert not reaches(host)
    down(host, NAME, discard=True)
    assert left(host) == []


def test_a_proxy_that_can_not_be_started_hazard_fails_closed_and_says_so(host: Host) -> None:
    tag = f"cspace-test:{uuid.uuid4().hex[:12]}"
    proc.run("docker", "tag", BASE, tag)
    blueprint = replace(host.blueprint(), egress_image=Image(tag, {}, {}, {}))
    try:
        with pytest.raises(CommandFailed, match="without it instances have no way out") as refused:
            up(replace(host, blueprint=lambda: blueprint), NAME, Wish())
        assert refused.value.hint == f"repair the cause, then: cspace up {NAME}"
        assert find_proxy(host) is None
        assert host.observe(NAME).container is None
    finally:
        proc.run("docker", "image", "rm", tag)
    up(host, NAME, Wish())
    assert reaches(host)


def test_a_network_that_can_not_be_sealed_is_said_and_leaves_no_container(host: Host) -> None:
    up(host, NAME, Wish())
    tag = f"cspace-test:{uuid.uuid4().hex[:12]}"
    proc.run("docker", "tag", BASE, tag)
    blueprint = replace(host.blueprint(), egress_image=Image(tag, {}, {}, {}))
    try:
        with pytest.raises(CommandFailed, match=r"can not be sealed.*nft") as refused:
            ensure_seal(replace(host, blueprint=lambda: blueprint), NAME)
    finally:
        proc.run("docker", "image", "rm", tag)
    assert str(refused.value.hint).endswith(f"cspace up {NAME}")
    wrong = Errand(host.egress_image.tag, ("nft", "nonsense"), {}, container(host).id)
    with pytest.raises(CommandFailed, match="nft ended with 1: Error: syntax error"):
        host.engine.sidecars.run(wrong)
    assert host.engine.list_containers(labels.of_task(host.paths(NAME).state)) == ()


def _as_earlier(host: Host) -> str:
    """Make the container as an earlier cspace did: Compose made and named its network."""
    compose = host.paths(NAME).compose
    content = yaml.safe_load(compose.read_text(encoding="utf-8"))
    marks = content["services"]["agent"]["labels"]
    del marks[labels.FIREWALL]
    del content["services"]["agent"]["environment"]["CSPACE_FIREWALL"]
    marks[labels.SPEC] = "another"
    content["networks"]["default"] = {"labels": marks}
    compose.write_text(yaml.safe_dump(content), encoding="utf-8")
    project = composition_name(host.project.id, NAME)
    words = ("docker", "compose", "--project-name", project, "--file", compose)
    host.engine.remove_all(labels.of_instance(host.project.id, NAME))
    proc.run(*words, "up", "--detach", "--wait")
    return f"{project}_default"


def test_an_instance_of_an_earlier_version_goes_on_until_it_is_made_anew(host: Host) -> None:
    up(host, NAME, Wish())
    network = _as_earlier(host)
    before = container(host)
    assert [each.network for each in before.endpoints] == [network]
    assert up(host, NAME, Wish()).notices != ()
    stop(host, NAME)
    start(host, NAME)
    assert container(host).id == before.id
    assert not reaches(host)
    up(host, NAME, Wish(recreate=True))
    assert reaches(host)
    down(host, NAME, discard=True)
    assert left(host) == []


def _machine(host: Host) -> Machine:
    return Deps(host.project.root, dict(os.environ), host.report).machine()
