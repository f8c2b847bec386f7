"""Every setting has an effect that can be seen from outside."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, docker, image_of

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

SERVE = "nohup python3 -m http.server 3000 --directory /workspace >/tmp/web.log 2>&1 & "
SERVE += "until curl -fso /dev/null http://127.0.0.1:3000/; do :; done"
SETTINGS = {
    "ports": [3000],
    "env": {"COLOUR": 'it\'s $blue: "#1"'},
    "limits": {"cpus": 0.5, "memory": "300m", "pids": 200},
    "post_create": 'echo "$COLOUR" >>/tmp/created; git status --porcelain >>/tmp/created',
}


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    """Return somebody whose mercury was made with every setting set."""
    with new() as one:
        one.commit(".cspace.json", json.dumps(SETTINGS))
        one.cspace("trust", "--yes")
        one.cspace("up", "mercury")
        yield one


def test_ports_that_are_derived_hazard_each_is_read_back_and_can_be_reached_from_here_only(
    person: Person,
) -> None:
    (port,) = person.cspace("ports", "mercury", "--json").json["ports"]
    assert (port["container"], port["host"]) == (3000, "127.0.0.1")
    person.inside("mercury", "bash", "-c", SERVE)
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"http://127.0.0.1:{port['host_port']}/README.md", timeout=10) as answer:
        assert answer.read() == b"# Sample\n"
    assert f"127.0.0.1:{port['host_port']}" in person.cspace("ports", "mercury").out
    assert f"127.0.0.1:{port['host_port']}->3000" in person.cspace("list").out


def test_fixed_host_ports_hazard_two_instances_publish_the_same_port(person: Person) -> None:
    person.cspace("up", "venus")
    answers = [
        person.cspace("ports", name, "--json").json["ports"][0] for name in ("mercury", "venus")
    ]
    assert answers[0]["host_port"] != answers[1]["host_port"]
    person.cspace("down", "--discard", "venus")


def test_env_reaches_the_instance_as_it_was_written(person: Person) -> None:
    assert person.inside("mercury", "printenv", "COLOUR") == f"{SETTINGS['env']['COLOUR']}\n"  # type: ignore[index]


def test_limits_are_what_docker_enforces_and_privileges_are_gone(person: Person) -> None:
    (found,) = json.loads(docker("inspect", person.container("mercury")))
    host = found["HostConfig"]
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == (500_000_000, 300 << 20, 200)
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["Privileged"] is False
    assert "docker.sock" not in json.dumps(found["Mounts"])


def test_post_create_ran_once_in_the_life_of_the_container(person: Person) -> None:
    expected = f"{SETTINGS['env']['COLOUR']}\n"  # type: ignore[index]
    assert person.inside("mercury", "cat", "/tmp/created") == expected
    person.cspace("stop", "mercury")
    person.cspace("start", "mercury")
    assert person.inside("mercury", "cat", "/tmp/created") == expected


def test_a_changed_setting_is_noticed_and_applied_by_recreate_with_the_workspace_kept(
    person: Person,
) -> None:
    person.inside("mercury", "sh", "-c", "echo kept >work")
    changed = ("--set", 'env={"COLOUR": "red"}')
    answer = person.cspace("up", "mercury", *changed, "--json")
    (notice,) = answer.json["instances"][0]["notices"]
    assert "cspace up mercury --recreate" in notice
    person.cspace("up", "mercury", "--recreate", *changed)
    assert person.inside("mercury", "printenv", "COLOUR") == "red\n"
    assert person.inside("mercury", "cat", "work") == "kept\n"
    assert person.cspace("up", "mercury", *changed, "--json").json["instances"][0]["notices"] == []


def test_readiness_that_races_the_start_hazard_what_is_not_ready_in_time_is_an_error(
    person: Person,
) -> None:
    late = ("--set", "ready_timeout=2", "--set", "post_create=sleep 60")
    answer = person.cspace("up", "mars", *late, ok=5)
    assert "mars did not become ready" in answer.err
    assert "cspace: post-create" in answer.err
    person.cspace("down", "--discard", "mars")


def test_a_branch_is_what_the_workspace_is_on(person: Person) -> None:
    person.git("branch", "feature", "HEAD~1")
    person.cspace("up", "earth", "--branch", "feature", "--no-attach")
    assert person.inside("earth", "git", "branch", "--show-current") == "feature\n"
    assert person.inside("earth", "git", "rev-parse", "HEAD").strip() == person.git(
        "rev-parse", "feature"
    )
    person.cspace("down", "--discard", "earth")


def test_base_image_and_ca_bundle_belong_to_the_users_settings_and_to_the_images_name(
    new: NewPerson,
) -> None:
    with new() as person:
        person.cspace("up", "mercury")
        person.cspace("down", "--discard", "mercury")
        assert "image" not in planned(person)
        bundle = person.write("bundle.pem", "# no certificate\n")
        for settings in ({"ca_bundle": str(bundle)}, {"base_image": "debian:bookworm"}):
            person.configure(settings)
            assert "image" in planned(person)
            person.configure({})
            person.write(".cspace.json", json.dumps(settings))
            assert str(person.repo / ".cspace.json") in person.cspace("up", "mercury", ok=2).err
            person.write(".cspace.json", "{}")


def planned(person: Person) -> list[str]:
    (plan,) = person.cspace("up", "mercury", "--dry-run", "--json").json["plans"]
    return [step["action"] for step in plan["steps"]]


@pytest.mark.soak
def test_base_image_and_ca_bundle_are_what_the_image_is_made_of(new: NewPerson) -> None:
    with new() as person:
        (person.home / "Dockerfile").write_text("FROM debian:bookworm-slim\nRUN touch /from-here\n")
        base = f"cspace-e2e-base:{person.id}"
        docker("build", f"--tag={base}", "--pull=false", str(person.home))
        authority = ("req", "-x509", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=Ours")
        person.run("openssl", *authority, "-keyout", "key.pem", "-out", "own.pem", "-days", "9")
        own = (person.repo / "own.pem").read_text(encoding="utf-8")
        known = (
            person.environment.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile or ""
        )
        bundle = person.run("cat", known).out + own
        person.configure({"base_image": base, "ca_bundle": str(person.write("bundle.pem", bundle))})
        person.cspace("up", "mercury")
        person.inside("mercury", "test", "-e", "/from-here")
        trusted = person.inside("mercury", "cat", "/etc/ssl/certs/ca-certificates.crt")
        assert own.strip() in trusted
        images = image_of(person.container("mercury")), image_of(person.proxy)
        person.cspace("down", "mercury")
        docker("image", "rm", *images, base)
