"""The one image of all instances, named by the hash of everything that goes into it."""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import importlib.metadata
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace import assets
from cspace.errors import UsageError
from cspace.files import Owner
from cspace.instance import labels

REPOSITORY = "cspace"
EGRESS_REPOSITORY = "cspace-egress"
# Within devcontainer/: another image's, so no part of this one.
_EGRESS = "egress"
LATEST = f"{REPOSITORY}:latest"
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
# A zip file can not say "no time"; one fixed time keeps equal content equal bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Image:
    """An image to have: its name says what is in it.

    Attributes:
        arguments: build arguments that change the content.
        files: what the build context holds, by relative path.
        labels: see `wheel_labels`.
        aliases: further names, that do not say what is in it.
    """

    tag: str
    arguments: Mapping[str, str]
    files: Mapping[str, bytes]
    labels: Mapping[str, str]
    aliases: tuple[str, ...] = ()


def plan_image(owner: Owner, *, base_image: str, ca_bundle: Path | None) -> Image:
    """Say which image an instance of this owner needs; reads files, builds nothing.

    Raises:
        UsageError: the CA bundle can not be read.
    """
    wheel = build_wheel()
    files = dict(_context_files(wheel, ca_bundle))
    arguments = {
        "BASE_IMAGE": base_image,
        "USER_UID": str(owner.uid),
        "USER_GID": str(owner.gid),
    }
    tag = _name(REPOSITORY, files, arguments)
    return Image(tag, arguments, files, wheel_labels(wheel), aliases=(LATEST,))


def plan_egress_image(*, base_image: str) -> Image:
    """Say which image a project's proxy needs; reads files, builds nothing."""
    files = dict(_tree(assets.directory("devcontainer") / _EGRESS, ""))
    arguments = {"BASE_IMAGE": base_image}
    tag = _name(EGRESS_REPOSITORY, files, arguments)
    marks = {labels.VERSION: version(), labels.ROLE: labels.EGRESS}
    return Image(tag, arguments, files, marks)


def _name(repository: str, files: Mapping[str, bytes], arguments: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for key, data in sorted(files.items()) + [(k, v.encode()) for k, v in arguments.items()]:
        digest.update(f"{len(key)} {key} {len(data)} ".encode())
        digest.update(data)
    return f"{repository}:{digest.hexdigest()[:16]}"


def write_context(image: Image, directory: Path) -> None:
    """Lay the build context out in an empty directory."""
    for name, data in image.files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if path.suffix == ".sh" else 0o644)


def proxy_arguments(environment: Mapping[str, str]) -> dict[str, str]:
    """Pick the build arguments that Docker knows by itself and keeps out of the image's history."""
    return {key: value for key, value in environment.items() if key.upper() in PROXY_VARIABLES}


def _context_files(wheel: bytes, ca_bundle: Path | None) -> Iterator[tuple[str, bytes]]:
    yield from _without_egress(_tree(assets.directory("devcontainer"), ""), "")
    yield from _tree(assets.directory("scripts"), "scripts/")
    yield f"wheel/cspace-{version()}-py3-none-any.whl", wheel
    try:
        yield "ca/ca.crt", ca_bundle.read_bytes() if ca_bundle else b""
    except OSError as error:
        raise UsageError(f"ca_bundle {ca_bundle} can not be read: {error.strerror}") from error


def _tree(directory: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(directory.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield prefix + path.relative_to(directory).as_posix(), path.read_bytes()


def _without_egress(files: Iterator[tuple[str, bytes]], prefix: str) -> Iterator[tuple[str, bytes]]:
    return (each for each in files if not each[0].startswith(f"{prefix}{_EGRESS}/"))


@functools.cache
def version() -> str:
    """Return the version of the running cspace."""
    return importlib.metadata.version("cspace")


@functools.cache
def present_labels() -> dict[str, str]:
    """Return the labels of an image that holds the running cspace."""
    return wheel_labels(build_wheel())


def wheel_labels(wheel: bytes) -> dict[str, str]:
    """Return the labels by which an image says which cspace it holds, to the byte."""
    digest = hashlib.sha256(wheel).hexdigest()
    return {labels.VERSION: version(), "dev.cspace.wheel": digest}


def build_wheel() -> bytes:
    """Pack the running package into a wheel again: equal files give equal bytes.

    A wheel is a zip of the package and of what the installer recorded, so an image holds the very
    code that built it, from a checkout and from an installation alike.
    """
    distribution = importlib.metadata.distribution("cspace")
    information = f"cspace-{distribution.version}.dist-info"
    content = dict(_tree(assets.package_directory(), "cspace/"))
    for name in assets.CHECKOUT:
        content |= _tree(assets.directory(name), f"cspace/_assets/{name}/")
    # An instance makes no proxy: what is in that makes no other image of instances.
    content = dict(_without_egress(iter(content.items()), "cspace/_assets/devcontainer/"))
    # Without the description, which is the README: its wording makes no other image.
    headers, _, _ = (distribution.read_text("METADATA") or "").partition("\n\n")
    content[f"{information}/METADATA"] = f"{headers}\n".encode()
    entry_points = distribution.read_text("entry_points.txt") or ""
    content[f"{information}/entry_points.txt"] = entry_points.encode()
    content[f"{information}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: cspace\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    content[f"{information}/RECORD"] = _record(content, f"{information}/RECORD")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in sorted(content.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    return packed.getvalue()


def _record(content: Mapping[str, bytes], own_name: str) -> bytes:
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for name, data in sorted(content.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        writer.writerow((name, f"sha256={digest}", len(data)))
    writer.writerow((own_name, "", ""))
    return rows.getvalue().encode()
