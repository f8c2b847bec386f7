"""Renders an instance's Compose file. No value can become other YAML than itself."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cspace.engine.model import Mount
from cspace.errors import UsageError
from cspace.files import Owner
from cspace.instance import labels
from cspace.instance.curated import curated_mounts, variables_of
from cspace.instance.models import model_mounts
from cspace.instance.names import composition_name, egress_name
from cspace.paths import CONTEXT, CONTEXT_KINDS, INSIDE, MEMORY, InstancePaths

if TYPE_CHECKING:
    from jinja2 import Template

# JSON lets them stand as they are; to YAML they are line breaks, or no characters at all.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Spec:
    """An instance as it is wanted.

    Attributes:
        environment: variables that are no secrets; docker inspect shows them.
        ports: container ports to publish on 127.0.0.1, where the kernel chooses the host's.
        host_ports: ports of this machine that it reaches as host.docker.internal.
        egress_image: the image of the gate, through which both kinds go behind the firewall.
        firewall: whether the proxy is the only way out; the network, made before, sees to it.
        memory: in Docker's form, for example "4g".
        scopes: of curated memory, those that it sees: `user`, `projects/shop`.
        models: the host's directory of models; None where it has none.
        ready_timeout: seconds.
    """

    name: str
    project_id: str
    root: Path
    image: str
    owner: Owner
    version: str
    environment: Mapping[str, str]
    ports: tuple[int, ...]
    host_ports: tuple[int, ...]
    egress_image: str
    cpus: float | None
    memory: str | None
    pids: int | None
    ready_timeout: int
    firewall: bool
    scopes: tuple[str, ...]
    models: Path | None

    @property
    def composition_name(self) -> str:
        return composition_name(self.project_id, self.name)

    @property
    def gate(self) -> tuple[str, ...]:
        """What the gate lets through, as its program takes it; nothing where there is no gate."""
        if not self.firewall:
            return ()
        hosts = (f"host:{port}" for port in self.host_ports)
        return (*hosts, *(f"agent:{port}" for port in self.ports))


@dataclass(frozen=True, slots=True)
class Rendered:
    """A Compose file's text and the hash that its containers carry as a label."""

    text: str
    digest: str


def instance_mounts(
    root: Path, paths: InstancePaths, scopes: Sequence[str], models: Path | None
) -> tuple[Mount, ...]:
    """List the host directories that an instance sees; each must exist before it starts.

    The human documents of the context are read-only, its three kinds of records are not.

    Args:
        scopes: of curated memory, those that it sees.
        models: the host's directory of models, where it has one.
    """
    shared = (Mount(root / CONTEXT / kind, f"{INSIDE.context}/{kind}") for kind in CONTEXT_KINDS)
    return (
        Mount(paths.workspace, INSIDE.workspace),
        Mount(paths.claude, INSIDE.claude),
        Mount(paths.sessions, INSIDE.projects),
        Mount(root / MEMORY, INSIDE.memory),
        Mount(root / CONTEXT, INSIDE.context, read_only=True),
        *shared,
        Mount(paths.journal, INSIDE.journal),
        *curated_mounts(paths, scopes),
        *model_mounts(models),
        Mount(paths.secrets, INSIDE.secrets, read_only=True),
    )


def render_compose(spec: Spec, template: str, paths: InstancePaths) -> Rendered:
    """Render the file and prove that it parses to what was put in.

    Raises:
        UsageError: a path can not be written in YAML, because it is not UTF-8.
    """
    fill = _compiled(template).render
    bare = fill(_values(spec, paths, digest=""))
    digest = hashlib.sha256(bare.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    text = fill(_values(spec, paths, digest=digest))
    _check(text, spec, paths)
    return Rendered(text, digest)


@functools.cache
def _compiled(template: str) -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  60 ms that only `up` needs

    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701  not HTML
    environment.filters["value"] = _value
    return environment.from_string(template)


def _values(spec: Spec, paths: InstancePaths, *, digest: str) -> dict[str, object]:
    owner = f"uid={spec.owner.uid},gid={spec.owner.gid}"
    return {
        "name": spec.composition_name,
        "image": spec.image,
        "hostname": spec.name,
        "labels": _labels(spec, paths, digest),
        "environment": dict(spec.environment) | _own_variables(spec),
        "ports": spec.ports,
        "firewall": spec.firewall,
        "host_ports": spec.host_ports,
        "gate": spec.gate,
        "gate_image": spec.egress_image,
        "gate_labels": _gate_labels(spec),
        "outside": egress_name(spec.project_id),
        "cpus": spec.cpus,
        "memory": spec.memory,
        "pids": spec.pids,
        "runtime": f"{INSIDE.runtime}:{owner},mode=0755,size=1m",
        "mounts": _mounts(spec, paths),
        "ready": f"{INSIDE.runtime}/ready",
        "ready_timeout": f"{spec.ready_timeout}s",
    }


def _mounts(spec: Spec, paths: InstancePaths) -> tuple[Mount, ...]:
    return instance_mounts(spec.root, paths, spec.scopes, spec.models)


def _own_variables(spec: Spec) -> dict[str, str]:
    own = {"CSPACE_INSTANCE": spec.name, "CSPACE_FIREWALL": "on" if spec.firewall else "off"}
    return own | variables_of(spec.scopes)


def _value(value: object) -> str:
    """Write a value as JSON, which YAML reads as itself, safe from Compose's own `$` variables."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False).replace("$", "$$")
    return _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _labels(spec: Spec, paths: InstancePaths, digest: str) -> dict[str, str]:
    metadata = [{"remoteUser": "dev", "updateRemoteUserUID": False}]
    return labels.of_instance(spec.project_id, spec.name) | {
        labels.ROOT: str(spec.root),
        labels.VERSION: spec.version,
        labels.SPEC: digest,
        labels.FIREWALL: "on" if spec.firewall else "off",
        labels.MEMORY: spec.memory or "",
        labels.SCOPES: " ".join(spec.scopes),
        labels.MODELS: str(spec.models or ""),
        labels.FOLDER: str(paths.workspace),
        "devcontainer.metadata": json.dumps(metadata),
    }


def _gate_labels(spec: Spec) -> dict[str, str]:
    """Return labels by which no editor takes it for the instance."""
    marks = {labels.ROOT: str(spec.root), labels.VERSION: spec.version}
    return labels.of_gate(spec.project_id, spec.name) | marks


def _check(text: str, spec: Spec, paths: InstancePaths) -> None:
    import yaml  # noqa: PLC0415  30 ms that only `up` needs

    try:
        text.encode("utf-8")
        service = yaml.load(text, Loader=yaml.CSafeLoader)["services"]["agent"]
    except (UnicodeEncodeError, yaml.YAMLError) as error:
        raise UsageError(f"{spec.root}: this path can not be written into YAML: {error}") from error
    sources = [volume["source"].replace("$$", "$") for volume in service["volumes"]]
    if sources != [str(mount.source) for mount in _mounts(spec, paths)]:
        raise UsageError(f"{spec.root}: this path does not survive YAML")
