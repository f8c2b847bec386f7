"""What gets out of an instance and what does not, beside the same request with the firewall off.

mercury has the firewall on, venus has it off. Both are asked to make the same requests.
"""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.egress_world import (
    ALLOWED,
    INWARD,
    LATER,
    METADATA,
    OTHER,
    Machine,
    World,
    make_machine,
    make_world,
)
from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

# Asks for every URL, with the variables that are set and past them; side by side.
_ASK = r"""
import concurrent.futures, json, subprocess, sys
def ask(job):
    name, url, way = job
    past = ["--noproxy", "*"] if way == "direct" else []
    words = ["curl", "-sk", "-m", "4", "-o", "/dev/null", "-w", "%{http_code}", *past, url]
    return f"{name} {way}", subprocess.run(words, capture_output=True, text=True).stdout == "200"
jobs = [(name, url, way) for name, url in json.load(sys.stdin).items() for way in ("set", "direct")]
with concurrent.futures.ThreadPoolExecutor(40) as pool:
    print(json.dumps(dict(pool.map(ask, jobs))))
"""
# Sends a datagram to each address in every way that needs no privilege; prints which ones left.
_SEND = r"""
import json, socket, struct, sys
me, port, *addresses = sys.argv[1:]
card = socket.if_nametoindex("eth0")
UNICAST_IF, PKTINFO = 50, 8
def send(way, address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        flags = socket.MSG_DONTROUTE if "near" in way else 0
        beside = []
        if "device" in way:
            out.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
        if "unicast" in way:
            out.setsockopt(socket.IPPROTO_IP, UNICAST_IF, struct.pack("!I", card))
            where = struct.pack("=4s4sI", b"", b"", card)
            out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, where)
        if "pktinfo" in way:
            where = struct.pack("=I4s4s", card, b"", b"")
            beside = [(socket.IPPROTO_IP, PKTINFO, where)]
        try:
            said = f"{me} {way} {address}".encode()
            out.sendmsg([said], beside, flags, (address, int(port)))
        except OSError:
            return False
    return True
bound = ("device", "unicast", "pktinfo")
ways = ("plain", *bound, *(f"{way}-near" for way in bound))
print(json.dumps([f"{me} {way} {each}" for way in ways for each in addresses if send(way, each)]))
"""
_ASK_NAME_SERVER = r"""
import socket, sys
me, server = sys.argv[1:]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as names:
    names.settimeout(1)
    label = f"{me}-asked".encode()
    try:
        names.sendto(b"cs\1\0\0\1\0\0\0\0\0\0" + bytes([len(label)]) + label + b"\0\0\1\0\1",
                     (server, 53))
        print("answered", len(names.recv(500)))
    except OSError as error:
        print("nothing", error)
"""
_RESOLVE = """
import socket, sys
try:
    socket.getaddrinfo(sys.argv[1], 80)
except OSError:
    pass
"""
# A reload closes the port for a moment.
_WAIT_FOR_PROXY = "until exec 3<>/dev/tcp/127.0.0.1/3128; do :; done 2>/dev/null"
# As an editor's server does it: bytes of stdin and stdout to a port of the loopback.
_TUNNEL = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as port:
    port.sendall(sys.stdin.buffer.readline() + sys.stdin.buffer.readline())
    while data := port.recv(65536):
        sys.stdout.buffer.write(data)
"""
# More connections than the proxy has descriptors.
_FLOOD = """
import contextlib, pathlib, resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (9000, 9000))
with contextlib.ExitStack() as held:
    for _ in range(8500):
        with contextlib.suppress(OSError):
            held.enter_context(socket.create_connection(("egress", 3128), timeout=1))
    pathlib.Path("/tmp/flooded").touch()
    time.sleep(60)
"""
_HOSTILE = Path(__file__).with_name("hostile_agent.py")
REFUSED = {
    "another name": f"http://{OTHER}/",
    "another name with TLS": f"https://{OTHER}/",
    "an allowed name's other port": f"http://{ALLOWED}:8080/",
    "an address": "http://{v4}/",
    "an address with TLS": "https://{v4}/",
    "an address of IPv6": "http://[{v6}]/",
    "an address of IPv6 with TLS": "https://[{v6}]/",
    "a name that leads inward": f"http://{INWARD}/",
    "the cloud's metadata": f"http://{METADATA}:{{port}}/",
    "this machine at its bridge": "http://{bridge}:{port}/",
    "this machine at its own address": "http://{machine}:{port}/",
    "this machine over IPv6": "http://[{gateway6}]:{port}/",
    "another instance": "http://{venus}:8000/",
}
GRANTED = {"HTTP": f"http://{ALLOWED}/", "HTTPS": f"https://{ALLOWED}/"}


@dataclass(frozen=True, slots=True)
class Scene:
    """Two instances, and all that they could reach; `places` fills the requests."""

    person: Person
    world: World
    machine: Machine
    places: Mapping[str, str]

    def ask(self, name: str) -> dict[str, bool]:
        """Have an instance make every request, both ways; say which were answered."""
        urls = {key: url.format(**self.places) for key, url in (REFUSED | GRANTED).items()}
        words = ("python3", "-c", _ASK)
        answered: dict[str, bool] = json.loads(
            self.person.inside(name, *words, stdin=json.dumps(urls))
        )
        return answered

    def query(self, name: str) -> str:
        """Have an instance ask a name server outside; return what came of it."""
        words = ("python3", "-c", _ASK_NAME_SERVER, name, self.world.v4)
        return self.person.inside(name, *words)

    @property
    def near(self) -> tuple[str, ...]:
        """Addresses of this machine, and those by which it is meant with all others."""
        own = (self.places["bridge"], self.places["machine"], METADATA)
        return (*own, "255.255.255.255", "224.0.0.1")

    def send(self, name: str) -> tuple[set[str], set[str]]:
        """Have an instance send this machine datagrams; say which left, and which arrived."""
        words = ("python3", "-c", _SEND, name, str(self.machine.port), *self.near)
        self.machine.arrived()
        left = docker("exec", self.person.container(name), *words)
        return set(json.loads(left)), set(self.machine.arrived())

    @property
    def proxy(self) -> str:
        return f"cspace_egress_{self.person.id}"

    def egress(self, name: str) -> str:
        found: str = self.person.cspace("status", name, "--json").json["instances"][0]["egress"]
        return found


def address_of(container: str, network: str) -> str:
    found = json.loads(docker("inspect", container))[0]["NetworkSettings"]["Networks"]
    return str(found[network]["IPAddress"])


@pytest.fixture(scope="module")
def scene(new: NewPerson) -> Iterator[Scene]:
    with new() as person:
        person.configure({"firewall": {"domains": [ALLOWED, INWARD]}})
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
            outward.connect(("192.0.2.1", 9))
            own = outward.getsockname()[0]
        person.cspace("up", "venus", "--set", "firewall.enabled=false")
        image = docker("inspect", "--format={{.Image}}", person.container("venus")).strip()
        with make_world(image) as world, make_machine(image) as machine:
            ports = ("--set", "ports=[8000]", "--set", f"firewall.host_ports=[{machine.port}]")
            person.cspace("up", "mercury", *ports)
            for network in (world.network, world.inward):
                docker("network", "connect", network, person.container("venus"))
                docker("network", "connect", network, f"cspace_egress_{person.id}")
            docker("exec", "--detach", person.container("venus"), "python3", "-m", "http.server")
            docker("exec", "--detach", person.container("mercury"), "python3", "-m", "http.server")
            bridge = docker(
                "network", "inspect", "bridge", "--format={{(index .IPAM.Config 0).Gateway}}"
            )
            places = {
                "v4": world.v4,
                "v6": world.v6,
                "port": str(machine.port),
                "bridge": bridge.strip(),
                "machine": own,
                "gateway6": f"{world.v6.rpartition(':')[0]}:1",
                "venus": address_of(person.container("venus"), f"cspace-{person.id}-venus"),
            }
            yield Scene(person, world, machine, places)
            person.cspace("down", "--discard", "mercury", "--discard", "venus")


@pytest.fixture(scope="module")
def closed(scene: Scene) -> dict[str, bool]:
    """What is answered behind the firewall."""
    return scene.ask("mercury")


@pytest.fixture(scope="module")
def opened(scene: Scene) -> dict[str, bool]:
    """What is answered without it."""
    return scene.ask("venus")


@pytest.mark.parametrize("request_", REFUSED)
def test_what_is_answered_without_the_firewall_is_refused_behind_it(
    closed: dict[str, bool], opened: dict[str, bool], request_: str
) -> None:
    assert opened[f"{request_} direct"]
    assert not closed[f"{request_} set"]
    assert not closed[f"{request_} direct"]


@pytest.mark.parametrize("request_", GRANTED)
def test_an_allowed_name_is_answered_and_only_through_the_proxy(
    closed: dict[str, bool], request_: str
) -> None:
    assert closed[f"{request_} set"]
    assert not closed[f"{request_} direct"]


def test_no_name_server_outside_is_asked(scene: Scene) -> None:
    assert scene.query("venus").startswith("answered")
    assert scene.query("mercury").startswith("nothing")
    assert "venus-asked" in scene.world.asked
    assert "mercury-asked" not in scene.world.asked


def test_no_datagram_comes_to_this_machine_in_any_way(scene: Scene) -> None:
    _, arrived = scene.send("venus")
    assert {f"venus plain {address}" for address in scene.near[:3]} <= arrived
    assert scene.send("mercury") == (set(), set())


def test_a_start_past_cspace_leaves_an_instance_closed_for_agents_until_up_seals_it(
    scene: Scene,
) -> None:
    scene.person.cspace("up", "mars")
    container = scene.person.container("mars")
    docker("restart", "--time=1", container)
    left, arrived = scene.send("mars")
    ways = [f"{way}{near}" for way in ("device", "unicast", "pktinfo") for near in ("", "-near")]
    every = {f"mars {way} {address}" for way in ways for address in scene.near}
    assert left == every
    assert arrived == (every if scene.machine.takes_any_source else arrived)
    assert docker("exec", container, "cat", "/run/cspace/phase") == "network\n"
    assert scene.egress("mars").startswith("open: datagrams past the routes")
    scene.person.inside("mars", "true")  # nor does cspace let anything in ahead of the seal
    assert scene.send("mars") == (set(), set())
    docker("restart", "--time=1", container)
    scene.person.cspace("up", "mars")
    assert scene.send("mars") == (set(), set())
    assert scene.egress("mars").startswith("allowlist (")
    scene.person.cspace("down", "--discard", "mars")


def test_the_engines_resolver_carries_no_name_out(scene: Scene) -> None:
    image = docker("inspect", "--format={{.Image}}", scene.person.container("mercury")).strip()
    words = ("run", "--rm", f"--dns={scene.world.v4}", "--entrypoint=python3", "--init")
    for network in (scene.world.network, f"cspace-{scene.person.id}-mercury"):
        name = f"{network}.tunnel.example".replace("_", "-")
        docker(*words, f"--network={network}", image, "-c", _RESOLVE, name)
    assert scene.world.network in scene.world.asked
    assert f"cspace-{scene.person.id}-mercury" not in scene.world.asked


def test_a_name_is_allowed_and_the_proxy_restarted_and_all_is_as_before(
    scene: Scene, closed: dict[str, bool]
) -> None:
    later = ("curl", "-sk", "-m", "4", "-o", "/dev/null", "-w", "%{http_code}", f"http://{LATER}/")
    assert scene.person.inside("mercury", *later) == "403"
    scene.person.cspace("net", "allow", LATER)
    docker("exec", scene.proxy, "timeout", "20", "bash", "-c", _WAIT_FOR_PROXY)
    assert scene.person.inside("mercury", *later) == "200"
    assert scene.ask("mercury") == closed
    docker("restart", "--time=2", scene.proxy)
    scene.person.cspace("up", "mercury")
    assert scene.ask("mercury") == closed


def test_an_instance_that_takes_every_connection_leaves_the_proxy_to_the_others(
    scene: Scene,
) -> None:
    container = scene.person.container("mercury")
    docker("exec", "--detach", container, "python3", "-c", _FLOOD)
    patience = ("timeout", "30", "bash", "-c", "until test -e /tmp/flooded; do :; done")
    docker("exec", container, *patience)
    image = docker("inspect", "--format={{.Image}}", container).strip()
    words = ("run", "--rm", f"--network=cspace-{scene.person.id}-mercury", "--entrypoint=curl")
    asked = ("-s", "-m", "4", "-o", "/dev/null", "-w", "%{http_code}", "-x", "http://egress:3128")
    assert docker(*words, image, *asked, f"http://{OTHER}/") == "403"
    docker("exec", container, "pkill", "--full", "flooded")


def test_what_was_refused_is_in_the_log_with_whose_it_was(
    scene: Scene, closed: dict[str, bool]
) -> None:
    found = scene.person.cspace("net", "log", "--json").json["refusals"]
    asked = {(each["instance"], each["host"], each["why"]) for each in found}
    assert {("mercury", OTHER, "name"), ("mercury", ALLOWED, "port")} <= asked
    assert ("mercury", INWARD, "address") in asked
    assert not any(host == "cspace-probe.invalid" for _, host, _ in asked)
    assert "nothing was refused" in scene.person.cspace("net", "log", "venus").err


def test_net_check_says_by_which_rule_and_ends_with_1_where_it_is_refused(scene: Scene) -> None:
    assert "firewall.domains" in scene.person.cspace("net", "check", ALLOWED).out
    refused = scene.person.cspace("net", "check", OTHER, ok=1)
    assert "no rule allows the name" in refused.out
    assert f"cspace net allow {OTHER}" in refused.err
    verdict = scene.person.cspace("net", "check", METADATA, "--json", ok=1).json["verdict"]
    assert verdict["allowed"] is False


def test_published_ports_and_allowed_ports_of_this_machine_work_behind_the_firewall(
    scene: Scene,
) -> None:
    ports = scene.person.cspace("ports", "mercury", "--json").json["ports"]
    assert [(port["container"], port["host"]) for port in ports] == [(8000, "127.0.0.1")]
    with urllib.request.urlopen(f"http://127.0.0.1:{ports[0]['host_port']}/") as answer:
        assert answer.status == 200
    inside = ("curl", "-s", "-m", "4", "-o", "/dev/null", "-w", "%{http_code}")
    granted = f"http://host.docker.internal:{scene.machine.port}/"
    assert scene.person.inside("mercury", *inside, granted) == "200"
    scene.person.inside("mercury", *inside, "http://host.docker.internal:22/", ok=7)


def test_a_port_that_an_editor_forwards_works_behind_the_firewall(scene: Scene) -> None:
    words = ("docker", "exec", "--interactive", scene.person.container("mercury"))
    tunnel = ("python3", "-c", _TUNNEL, "8000")
    asked = b"GET / HTTP/1.0\r\n\r\n"
    done = subprocess.run([*words, *tunnel], input=asked, capture_output=True, check=True)
    assert done.stdout.startswith(b"HTTP/1.0 200")


def test_a_hostile_instance_does_not_change_what_status_reports(scene: Scene) -> None:
    honest = scene.egress("mercury")
    assert honest.startswith("allowlist (")
    container = scene.person.container("mercury")
    docker("exec", "--detach", container, "python3", "-c", _HOSTILE.read_text("utf-8"))
    patience = ("timeout", "30", "bash", "-c", "until test -s /tmp/hostile; do :; done")
    docker("exec", container, *patience)
    assert int(scene.person.inside("mercury", "cat", "/tmp/hostile")) > 500
    assert scene.egress("mercury") == honest
    assert scene.egress("venus") == "open: firewall.enabled is false"


def test_with_the_proxy_stopped_nothing_gets_out_until_up_starts_it(scene: Scene) -> None:
    docker("stop", "--time=2", scene.proxy)
    assert not any(scene.ask("mercury").values())
    assert scene.egress("mercury") == "blocked: the proxy does not answer"
    scene.person.cspace("up", "mercury")
    assert scene.egress("mercury").startswith("allowlist (")
