"""Reads the host's files and volumes through containers that are never started."""

from __future__ import annotations

import contextlib
import io
import tarfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO

from docker.errors import APIError, ImageNotFound, NotFound
from docker.types import Mount as ApiMount

from cspace.engine.translation import translated
from cspace.engine.volume_stream import VolumeStream
from cspace.errors import NotFound as Missing

# Of a volume's stream that is held at once; larger ones are not faster.
CHUNK_BYTES = 256 * 1024
# An image without content: a container of it, never started, reads the host through the engine.
_EMPTY_IMAGE = ("cspace-probe", "empty")
# What marks a container that reads a volume: never started, and no use of it.
READER = "dev.cspace.reader"
_VOLUME_PLACE = "/volume"
# What marks a volume that nobody wanted: the engine makes one that has gone when it is mounted.
_MADE = "dev.cspace.made"


class DockerReading:
    """What the Engine protocol says of markers and of volumes' content, for one daemon."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def sees(self, markers: Mapping[Path, bytes], labels: Mapping[str, str]) -> bool:
        mounts = [
            ApiMount(f"/probe/{number}", str(file.parent), type="bind", read_only=True)
            for number, file in enumerate(markers)
        ]
        with translated():
            try:
                probe = self._create_reader(mounts, labels)
            except APIError as error:
                if "bind source path does not exist" in str(error):
                    return False
                raise
            try:
                return all(
                    self._read(probe, f"/probe/{number}", file.name) == content
                    for number, (file, content) in enumerate(markers.items())
                )
            finally:
                self._api.remove_container(probe, force=True)

    def _create_reader(self, mounts: Sequence[ApiMount], labels: Mapping[str, str]) -> str:
        """Make a container that is never started: through it the engine reads what it mounts."""
        self._ensure_empty_image()
        host = self._api.create_host_config(mounts=mounts)
        image = ":".join(_EMPTY_IMAGE)
        created = self._api.create_container(
            image, ["never-started"], host_config=host, labels=dict(labels)
        )
        return str(created["Id"])

    def _read(self, container: str, directory: str, name: str) -> bytes | None:
        try:
            chunks, _ = self._api.get_archive(container, f"{directory}/{name}")
        except NotFound:
            return None
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            file = archive.extractfile(name)
            return file.read() if file is not None else None

    @contextlib.contextmanager
    def open_volume(self, name: str, labels: Mapping[str, str]) -> Iterator[BinaryIO]:
        with translated():
            try:
                # A container that names a missing volume would make it.
                self._api.inspect_volume(name)
            except NotFound:
                raise _missing(name) from None
        container = self._create_volume_reader(name, labels)
        try:
            with self._archive(container, f"{_VOLUME_PLACE}/.") as stream:
                yield stream
        finally:
            remove_container(self._api, container)

    def _create_volume_reader(self, name: str, labels: Mapping[str, str]) -> str:
        """Create a container with a volume and return its id.

        Raises:
            NotFound: the volume has gone since it was looked for; none is made.
        """
        made = uuid.uuid4().hex
        # Without a copy: the empty image has nothing to fill an empty volume with. The label is for
        # a volume that the engine has to make for the mount; one that is there stays as it is.
        mount = ApiMount(
            _VOLUME_PLACE, name, type="volume", read_only=True, no_copy=True, labels={_MADE: made}
        )
        with translated():
            container = self._create_reader([mount], {**labels, READER: name})
            if (self._api.inspect_volume(name)["Labels"] or {}).get(_MADE) == made:
                remove_container(self._api, container)
                self._api.remove_volume(name)
                raise _missing(name)
        return container

    @contextlib.contextmanager
    def _archive(self, container: str, path: str) -> Iterator[BinaryIO]:
        # The library's own call keeps the connection: until that is closed, the engine waits for a
        # reader who stopped early, and removes no container.
        url = f"{self._api.base_url}/v{self._api.api_version}/containers/{container}/archive"
        with translated():
            answer = self._api.get(
                url, params={"path": path}, stream=True, timeout=self._api.timeout
            )
        with answer:
            with translated():
                answer.raise_for_status()
            chunks = VolumeStream(answer.iter_content(CHUNK_BYTES))
            with io.BufferedReader(chunks, CHUNK_BYTES) as stream:
                yield stream

    def _ensure_empty_image(self) -> None:
        repository, tag = _EMPTY_IMAGE
        with contextlib.suppress(ImageNotFound):
            self._api.inspect_image(f"{repository}:{tag}")
            return
        empty = io.BytesIO()
        tarfile.open(fileobj=empty, mode="w").close()
        self._api.import_image_from_data(empty.getvalue(), repository=repository, tag=tag)


def remove_container(api: Any, container: str, *, volumes: bool = False) -> None:
    """Remove a container, at work or not; one that goes already is as good as gone.

    Args:
        volumes: those that only its image asked for, too.
    """
    with translated():
        try:
            api.remove_container(container, force=True, v=volumes)
        except NotFound:
            pass
        except APIError as error:
            if error.status_code != HTTPStatus.CONFLICT:  # somebody else removes it
                raise


def _missing(volume: str) -> Missing:
    return Missing(f"there is no volume {volume!r}", hint="docker volume ls shows what there is")
