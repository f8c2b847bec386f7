from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cspace import assets
from cspace.engine.model import Container, State
from cspace.errors import UsageError
from cspace.files import Owner
from cspace.instance import labels
from cspace.instance.compose import Spec, render_compose
from cspace.instance.models import mounted_models
from cspace.paths import INSIDE, InstancePaths

GOLDEN = Path(__file__).with_name("compose.golden.yaml")
HOSTILE = (
    'yes: "no" # \n  - x: ${HOME} $$ {{ 7 * 7 }}' + "\x1b\x7f\x85\x9b\u2028\u202e\ufeff\uffffé😀"
)


def spec(root: Path = Path("/home/ada/shop"), **changes: Any) -> Spec:
    wanted: dict[str, Any] = {
        "name": "mercury",
        "project_id": "shop-0123abcd",
        "root": root,
        "image": "cspace:0123456789abcdef",
        "owner": Owner(1001, 1002),
        "version": "0.1.0",
        "environment": {"EDITOR": "vi"},
        "ports": (3000,),
        "cpus": 2.0,
        "memory": "4g",
        "pids": 512,
        "ready_timeout": 300,
        "firewall": True,
        "scopes": ("global", "user", "projects/shop", "personas/ada"),
        "host_ports": (5432,),
        "egress_image": "cspace-egress:0123456789abcdef",
        "models": Path("/home/ada/.cache/cspace/models"),
    }
    return Spec(**wanted | changes)


PATHS = InstancePaths(Path("/home/ada/.cspace/instances/shop-0123abcd/mercury"))


def all_rendered(wanted: Spec, paths: InstancePaths = PATHS) -> dict[str, dict[str, Any]]:
    text = render_compose(wanted, assets.template("compose.yaml.j2"), paths).text
    services: dict[str, dict[str, Any]] = yaml.safe_load(text)["services"]
    return services


def rendered(wanted: Spec, paths: InstancePaths = PATHS) -> dict[str, Any]:
    return all_rendered(wanted, paths)["agent"]


def test_the_compose_file_is_as_agreed() -> None:
    text = render_compose(spec(), assets.template("compose.yaml.j2"), PATHS).text
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_hostile_value_stays_one_value() -> None:
    service = rendered(spec(root=Path(f"/home/{HOSTILE}"), environment={"A": HOSTILE}))
    doubled = HOSTILE.replace("$", "$$")
    assert service["environment"]["A"] == doubled
    assert service["volumes"][3]["source"] == f"/home/{doubled}/.cspace/memory"
    assert len(service["volumes"]) == 17


def test_a_path_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(UsageError, match="YAML"):
        rendered(spec(root=Path("/home/\udc80")))


def test_a_missing_bind_source_hazard_docker_makes_none_of_the_agreed_mounts() -> None:
    volumes = {each["target"]: each for each in rendered(spec())["volumes"]}
    memory = volumes["/home/dev/.claude/projects/-workspace/memory"]
    assert memory["source"] == "/home/ada/shop/.cspace/memory"
    sessions = volumes["/home/dev/.claude/projects"]
    assert sessions["source"] == "/home/ada/.cspace/sessions/shop-0123abcd/mercury"
    context = volumes["/workspace/.cspace/context"]
    assert context["source"] == "/home/ada/shop/.cspace/context"
    assert context["read_only"] is True
    assert volumes["/workspace/.cspace/context/findings"]["read_only"] is False
    assert len(volumes) == 17
    assert all(each["bind"] == {"create_host_path": False} for each in volumes.values())
    # A named volume over a directory that is not there would be root's.
    assert {each["type"] for each in volumes.values()} == {"bind"}


def test_fixed_container_names_and_host_ports_hazard_neither_occurs() -> None:
    service = rendered(spec(firewall=False))
    assert "container_name" not in service
    assert service["ports"] == [{"target": 3000, "host_ip": "127.0.0.1", "protocol": "tcp"}]


def test_behind_the_firewall_the_gate_publishes_the_ports_and_the_instance_does_not() -> None:
    services = all_rendered(spec())
    assert "ports" not in services["agent"]
    assert services["gate"]["ports"] == [
        {"target": 3000, "host_ip": "127.0.0.1", "protocol": "tcp"}
    ]
    assert services["gate"]["command"] == ["host:5432", "agent:3000"]
    assert "networks" not in services["agent"]


def test_no_editor_takes_the_gate_for_the_instance() -> None:
    assert not any(key.startswith("devcontainer") for key in all_rendered(spec())["gate"]["labels"])


@pytest.mark.parametrize("changes", [{"ports": (), "host_ports": ()}, {"firewall": False}])
def test_there_is_a_gate_only_where_it_has_something_to_let_through(
    changes: dict[str, Any],
) -> None:
    assert set(all_rendered(spec(**changes))) == {"agent"}


def test_without_the_firewall_the_machine_has_the_same_name() -> None:
    service = rendered(spec(firewall=False))
    assert service["extra_hosts"] == ["host.docker.internal:host-gateway"]


def test_limits_that_are_not_set_are_not_written() -> None:
    service = rendered(spec(cpus=None, memory=None, pids=None, ports=()))
    assert not {"cpus", "mem_limit", "pids_limit", "ports"} & service.keys()


def test_the_digest_changes_with_the_spec_and_only_with_it() -> None:
    template = assets.template("compose.yaml.j2")
    first = render_compose(spec(), template, PATHS)
    assert render_compose(spec(), template, PATHS) == first
    assert render_compose(spec(ports=(3001,)), template, PATHS).digest != first.digest
    assert f'"dev.cspace.spec": "{first.digest}"' in first.text


def test_a_host_without_models_mounts_none_and_its_container_says_so() -> None:
    agent = rendered(spec(models=None))
    assert INSIDE.models not in {one["target"] for one in agent["volumes"]}
    assert agent["labels"][labels.MODELS] == ""


def test_a_container_says_which_directory_of_models_it_mounts() -> None:
    made = Container("i", "n", "c", {labels.MODELS: "/home/ada/models"}, State.RUNNING, ())
    assert mounted_models(made) == Path("/home/ada/models")
    assert mounted_models(None) is None
