"""The images that instances and their containers are made from: found, or built once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from cspace import files, trees
from cspace.engine.model import Build
from cspace.errors import CommandFailed
from cspace.instance import image
from cspace.instance.observe import Observed
from cspace.lifecycle.host import Host
from cspace.paths import build_directory


def ensure_image(host: Host, subject: str, wanted: image.Image | None = None) -> None:
    """Build an image unless it is there; several callers build it once.

    Args:
        wanted: that of the instances by default.

    Raises:
        CommandFailed: it can not be built; the message carries the log's last lines.
    """
    wanted = wanted or host.image
    if host.engine.has_image(wanted.tag):
        return  # whoever needs none built does not wait for somebody's build
    with host.locked_image(subject):
        if host.engine.has_image(wanted.tag):
            return
        with _build_context(host) as context:
            image.write_context(wanted, context)
            build = Build(
                context=context,
                tags=(wanted.tag, *wanted.aliases),
                arguments={**wanted.arguments, **image.proxy_arguments(host.environment)},
                labels=wanted.labels,
            )
            try:
                host.engine.build_image(build, host.output(subject, "image"))
            except CommandFailed as error:
                raise CommandFailed(
                    f"the image can not be built: {error}",
                    hint="cspace config show: base_image, ca_bundle; and the log above",
                ) from error


@contextlib.contextmanager
def _build_context(host: Host) -> Iterator[Path]:
    """Give an empty directory; its name is fixed, so that the next build removes a killed one's."""
    directory = build_directory(host.user)
    trees.remove_tree(directory)
    files.ensure_directory(directory, owner=host.owner, mode=0o700)
    try:
        yield directory
    finally:
        trees.remove_tree(directory)


def find_image(host: Host, observed: Observed) -> str | None:
    """Find an image to pack an archive in: one that holds this cspace, else the instance's own.

    A teardown should not have to build an image just because cspace or a setting is new.
    """
    present = find_present_image(host, observed)
    if present is not None:
        return present
    tags = (host.image.tag, *((observed.container.image,) if observed.container else ()))
    return next((tag for tag in tags if host.engine.has_image(tag)), None)


def find_present_image(host: Host, observed: Observed) -> str | None:
    """Find the instance's own image where it holds this cspace, which is as usual.

    Then the settings, which name the other, are not even read.
    """
    own = observed.container.image if observed.container else None
    present = own is not None and host.engine.has_image(own, labels=image.present_labels())
    return own if present else None
