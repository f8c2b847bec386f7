"""Containers that no Compose file describes, through the Engine API."""

from __future__ import annotations

from typing import Any

from docker.errors import NotFound
from docker.types import LogConfig, Ulimit
from docker.types import Mount as ApiMount

from cspace.engine.docker_reading import remove_container
from cspace.engine.sidecar_model import Errand, Sidecar
from cspace.engine.translation import translated
from cspace.errors import CommandFailed
from cspace.errors import NotFound as Missing

_NANOSECONDS = 1_000_000_000
# What runs programs of many connections sizes its tables by it, and the engine's is a billion.
_OPEN_FILES = 8192
# Of what a program said that failed.
_LINES = 5


class DockerSidecars:
    """The Sidecars protocol over the API of one daemon."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def start(self, sidecar: Sidecar) -> None:
        with translated():
            remove_container(self._api, sidecar.name, volumes=True)
            try:
                self._create(sidecar)
                self._api.start(sidecar.name)
            except BaseException:
                remove_container(self._api, sidecar.name, volumes=True)
                raise

    def run(self, errand: Errand) -> None:
        with translated():
            try:
                container = self._create_errand(errand)
                try:
                    self._api.start(container)
                    code = self._api.wait(container)["StatusCode"]
                    said = self._api.logs(container, tail=_LINES) if code else b""
                finally:
                    remove_container(self._api, container, volumes=True)
            except NotFound as error:
                raise CommandFailed(f"Docker said no: {error.explanation}") from error
        if code:
            answer = said.decode("utf-8", "replace").strip()
            raise CommandFailed(f"{errand.command[0]} ended with {code}: {answer}")

    def _create_errand(self, errand: Errand) -> str:
        host = self._api.create_host_config(
            network_mode=f"container:{errand.beside}",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=["NET_ADMIN"],
            security_opt=["no-new-privileges:true"],
            pids_limit=16,
            mem_limit=64 * 1024 * 1024,
            log_config=LogConfig(type="json-file", config={"max-size": "1m"}),
        )
        created = self._api.create_container(
            errand.image,
            list(errand.command),
            user="0:0",
            labels=dict(errand.labels),
            host_config=host,
        )
        return str(created["Id"])

    def signal(self, container: str, signal: str) -> None:
        with translated():
            try:
                self._api.kill(container, signal=signal)
            except NotFound as error:
                raise Missing(f"container {container} has gone", hint="cspace up") from error

    def _create(self, sidecar: Sidecar) -> None:
        first, *others = sidecar.networks
        endpoint = self._api.create_endpoint_config(aliases=[sidecar.alias])
        config = self._api.create_container_config(
            sidecar.image,
            list(sidecar.command),
            hostname=sidecar.alias,
            user=sidecar.user,
            labels=dict(sidecar.labels),
            environment=dict(sidecar.environment),
            host_config=self._host_config(sidecar),
            networking_config=self._api.create_networking_config({first: endpoint}),
        )
        # The library knows no StartInterval.
        config["Healthcheck"] = _health(sidecar)
        self._api.create_container_from_config(config, sidecar.name)
        for network in others:
            self._api.connect_container_to_network(sidecar.name, network, aliases=[sidecar.alias])

    def _host_config(self, sidecar: Sidecar) -> Any:
        return self._api.create_host_config(
            mounts=[ApiMount(sidecar.place, str(sidecar.directory), type="bind", read_only=True)],
            tmpfs=dict.fromkeys(sidecar.temporary, "mode=1777,size=16m"),
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            # It stands in several networks and is no way from one to another.
            sysctls={"net.ipv4.ip_forward": "0"},
            ulimits=[Ulimit(name="nofile", soft=_OPEN_FILES, hard=_OPEN_FILES)],
            pids_limit=sidecar.pids,
            mem_limit=sidecar.memory,
            restart_policy={"Name": "unless-stopped"},
            log_config=LogConfig(type="json-file", config={"max-size": "5m", "max-file": "2"}),
        )


def _health(sidecar: Sidecar) -> dict[str, Any]:
    return {
        "Test": ["CMD", *sidecar.health],
        # It is for the start: what is slow or hangs later, no instance is helped by knowing.
        "Interval": 600 * _NANOSECONDS,
        "Timeout": 5 * _NANOSECONDS,
        "Retries": 3,
        "StartPeriod": 30 * _NANOSECONDS,
        "StartInterval": _NANOSECONDS // 10,
    }
