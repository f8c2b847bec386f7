"""Docker behind the Engine protocol: the API for single objects, `docker compose` for projects.

The engine is the one that the docker program would talk to: DOCKER_HOST, then DOCKER_CONTEXT, then
the current context.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import docker
from docker.errors import DockerException, ImageNotFound, NotFound

from cspace import proc
from cspace.engine.address import find_engine
from cspace.engine.docker_inspection import DockerInspection
from cspace.engine.docker_networks import DockerNetworks
from cspace.engine.docker_reading import READER, DockerReading, remove_container
from cspace.engine.docker_sidecars import DockerSidecars
from cspace.engine.model import (
    Build,
    Capacity,
    Composition,
    Container,
    Mount,
    OnLine,
    State,
    StoredImage,
    Volume,
)
from cspace.engine.rows import label_filters, parse_container, parse_image
from cspace.engine.translation import answering, translated
from cspace.files import Owner

API_TIMEOUT_SECONDS = 60
# What images share is computed file by file.
MEASURE_TIMEOUT_SECONDS = 1800
# That of Engine 25, the oldest that we need; asking which is the newest is one more call.
API_VERSION = "1.44"
STOP_TIMEOUT_SECONDS = 10
# After the cause BuildKit repeats the whole instruction, twice.
TAIL_LINES = 30
# `docker compose up --wait` looks every half second, which is as long as a start takes.
POLL_SECONDS, LONGEST_POLL_SECONDS = 0.05, 0.5
# Of what was waited already: many that start at once would keep the engine busy with questions.
POLL_PART = 0.1
# git starts a thread for each processor.
TASK_PIDS = 1024
# The engine does not tell; it shares our file system, and so our kernel or one set up like it.
_PID_MAX = Path("/proc/sys/kernel/pid_max")
_DOCKER_FAILED = 125
# A program in a throw-away container answers in a few lines; an agent's code may speak beside it.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
_WORST_FIRST = (State.STOPPED, State.UNHEALTHY, State.CREATED, State.STARTING, State.RUNNING)
# What `docker compose run` puts on a container that a person started beside the service's own.
_ONE_OFF = "com.docker.compose.oneoff"


class DockerEngine:
    """The Engine protocol over one Docker daemon."""

    @cached_property
    def _api(self) -> Any:
        with translated():
            try:
                api = docker.APIClient(
                    **find_engine(),
                    version=API_VERSION,
                    timeout=API_TIMEOUT_SECONDS,
                    use_ssh_client=True,
                )
            except ValueError as error:
                raise DockerException(f"its address is not one: {error}") from error
        # No proxy stands before a socket; to look for one takes a third of each call's time.
        api.trust_env = not api.base_url.startswith("http+docker:")
        return api

    @cached_property
    def networks(self) -> DockerNetworks:
        return DockerNetworks(self._api)

    @cached_property
    def sidecars(self) -> DockerSidecars:
        return DockerSidecars(self._api)

    @cached_property
    def inspection(self) -> DockerInspection:
        return DockerInspection(self._api)

    @cached_property
    def _reading(self) -> DockerReading:
        return DockerReading(self._api)

    def ping(self) -> None:
        with translated():
            self._api.ping()

    def identify(self) -> str:
        return str(self._info["ID"])

    def capacity(self) -> Capacity:
        pids = int(_PID_MAX.read_text(encoding="ascii"))
        return Capacity(cpus=self._info["NCPU"], memory=self._info["MemTotal"], pids=pids)

    @cached_property
    def _info(self) -> Mapping[str, Any]:
        """What does not change while the engine runs."""
        with translated():
            return dict(self._api.info())

    def list_containers(self, labels: Mapping[str, str]) -> tuple[Container, ...]:
        with translated():
            rows = self._api.containers(all=True, filters=label_filters(labels))
        return tuple(sorted(map(parse_container, rows), key=lambda container: container.name))

    def sees(
        self, markers: Mapping[Path, bytes], *, labels: Mapping[str, str] = MappingProxyType({})
    ) -> bool:
        return self._reading.sees(markers, labels)

    def list_volumes(self) -> tuple[Volume, ...]:
        with translated():
            rows = self._api.volumes()["Volumes"] or ()
        volumes = (Volume(row["Name"], row["Labels"] or {}) for row in rows)
        return tuple(sorted(volumes, key=lambda volume: volume.name))

    def volume_users(self, name: str) -> tuple[Container, ...]:
        with translated():
            # The engine's filter takes a place in a container for a name, too.
            rows = self._api.containers(all=True, filters={"volume": [name]})
        users = (
            parse_container(row)
            for row in rows
            if any(mount.get("Name") == name for mount in row["Mounts"])
        )
        others = (user for user in users if READER not in user.labels)
        return tuple(sorted(others, key=lambda user: user.name))

    def open_volume(
        self, name: str, *, labels: Mapping[str, str] = MappingProxyType({})
    ) -> AbstractContextManager[BinaryIO]:
        return self._reading.open_volume(name, labels)

    def has_image(self, tag: str, *, labels: Mapping[str, str] = MappingProxyType({})) -> bool:
        with translated():
            try:
                found = self._api.inspect_image(tag)
            except ImageNotFound:
                return False
        return labels.items() <= (found["Config"]["Labels"] or {}).items()

    def list_labels(self, labels: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        filters = label_filters(labels)
        with translated():
            rows = [
                *self._api.containers(all=True, filters=filters),
                *self._api.networks(filters=filters),
                *(self._api.volumes(filters=filters)["Volumes"] or ()),
            ]
        return tuple(row["Labels"] for row in rows)

    def list_images(self, labels: Mapping[str, str]) -> tuple[StoredImage, ...]:
        # The library's own call can not ask for what is shared.
        url = f"{self._api.base_url}/v{API_VERSION}/images/json"
        asked = {"shared-size": "1", "filters": json.dumps(label_filters(labels))}
        with translated():
            answer = self._api.get(url, params=asked, timeout=MEASURE_TIMEOUT_SECONDS)
            answer.raise_for_status()
            rows = answer.json()
        return tuple(map(parse_image, rows))

    def remove_image(self, tag: str) -> None:
        with translated(), contextlib.suppress(ImageNotFound):
            self._api.remove_image(tag)

    def build_image(self, build: Build, on_line: OnLine) -> None:
        words = ["docker", "build", "--progress=plain", "--pull=false"]
        words += [f"--tag={tag}" for tag in build.tags]
        words += [f"--label={key}={value}" for key, value in sorted(build.labels.items())]
        words += [f"--build-arg={key}={value}" for key, value in sorted(build.arguments.items())]
        environment = os.environ | {"DOCKER_BUILDKIT": "1"}
        words.append(str(build.context))
        # BuildKit sends the name of the directory that we are in as a header, unescaped.
        with answering(self.ping):
            proc.stream(
                *words, on_line=on_line, cwd=build.context, env=environment, tail_lines=TAIL_LINES
            )

    @contextlib.contextmanager
    def start_once(
        self,
        image: str,
        argv: Sequence[str],
        mounts: Sequence[Mount],
        user: Owner,
        *,
        labels: Mapping[str, str] = MappingProxyType({}),
        beside: Container | None = None,
    ) -> Iterator[Callable[[], proc.Result]]:
        self.ping()
        words = [
            "docker",
            "run",
            "--rm",
            "--interactive",
            "--init",
            f"--network={f'container:{beside.id}' if beside else 'none'}",
            "--pull=never",
        ]
        words += ["--cap-drop=ALL", "--security-opt=no-new-privileges", "--entrypoint="]
        # What it reads may be made to exhaust it: then it fails, and not the host.
        words += [f"--pids-limit={TASK_PIDS}", "--oom-score-adj=1000"]
        words += [f"--user={user.uid}:{user.gid}", *(f"--mount={_mount(each)}" for each in mounts)]
        words += [f"--label={key}={value}" for key, value in labels.items()]
        # From 125 on it is Docker that speaks, not the program.
        ours = tuple(range(_DOCKER_FAILED))
        limited = proc.start_limited(*words, image, *argv, limit=MAX_ANSWER_BYTES, ok=ours)
        with answering(self.ping), limited as answer:
            yield answer

    def start_composition(
        self, composition: Composition, *, recreate: bool, on_line: OnLine
    ) -> None:
        recreation = "--force-recreate" if recreate else "--no-recreate"
        # A person's own variables of Compose are for a project of theirs: its files, its profiles.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("COMPOSE_")}
        words = ("up", "--detach", recreation)
        with answering(self.ping):
            proc.stream(*_compose(composition), *words, env=environment, on_line=on_line)

    def wait(self, labels: Mapping[str, str], *, timeout: float) -> State:
        began = time.monotonic()
        while True:
            states = {
                container.state
                for container in self.list_containers(labels)
                if container.labels.get(_ONE_OFF) != "True"
            }
            waited = time.monotonic() - began
            ended = states & {State.STOPPED, State.UNHEALTHY}
            if ended or states <= {State.RUNNING} or waited > timeout:
                # The one that is furthest from ready, and never ready when nothing is there.
                return next((one for one in _WORST_FIRST if one in states), State.STOPPED)
            time.sleep(min(max(POLL_SECONDS, waited * POLL_PART), LONGEST_POLL_SECONDS))

    def stop(self, container: Container) -> None:
        with translated(), contextlib.suppress(NotFound):
            self._api.stop(container.id, timeout=STOP_TIMEOUT_SECONDS)

    def remove(self, container: Container) -> None:
        remove_container(self._api, container.id)

    def remove_all(self, labels: Mapping[str, str]) -> None:
        filters = label_filters(labels)
        with translated():
            for row in self._api.containers(all=True, filters=filters):
                with contextlib.suppress(NotFound):
                    self._api.remove_container(row["Id"], force=True, v=True)
        for network in self.networks.list(labels):
            self.networks.remove(network.id)
        with translated():
            for row in self._api.volumes(filters=filters)["Volumes"] or ():
                with contextlib.suppress(NotFound):
                    self._api.remove_volume(row["Name"])

    def logs(self, container: Container, *, tail: int, errors: bool = True) -> str:
        with translated():
            raw: bytes = self._api.logs(container.id, tail=tail, stderr=errors)
        return raw.decode("utf-8", "replace")


def _mount(mount: Mount) -> str:
    # The value is one CSV record: a field that holds a comma or a quote is quoted, quotes doubled.
    fields = ["type=bind", f"source={mount.source}", f"target={mount.target}"]
    fields += ["readonly"] if mount.read_only else []
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields)


def _compose(composition: Composition) -> tuple[str, ...]:
    return (
        *("docker", "compose", "--ansi=never", "--progress=plain"),
        *("--project-name", composition.name, "--file", str(composition.file)),
    )
