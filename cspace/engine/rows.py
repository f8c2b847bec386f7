"""What the engine's lists are asked, and say of a container or an image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cspace.engine.model import Container, Endpoint, Port, State, StoredImage


def label_filters(labels: Mapping[str, str]) -> dict[str, list[str]]:
    """Write labels as a filter of the engine's lists; "" stands for any value."""
    return {"label": [f"{key}={value}" if value else key for key, value in labels.items()]}


def parse_image(row: Mapping[str, Any]) -> StoredImage:
    """Read a row of the list of images."""
    shared = row.get("SharedSize", -1)
    size = row["Size"] - shared if shared >= 0 else None
    return StoredImage(row["Id"], tuple(row["RepoTags"] or ()), size)


def parse_container(row: Mapping[str, Any]) -> Container:
    """Read a row of the list of containers."""
    ports = {
        (port["PrivatePort"], port.get("IP", ""), port["PublicPort"])
        for port in row.get("Ports") or ()
        if "PublicPort" in port
    }
    return Container(
        id=row["Id"],
        name=row["Names"][0].removeprefix("/"),
        image=row["Image"],
        labels=row["Labels"],
        state=_state(row["State"], row["Status"]),
        ports=tuple(Port(*port) for port in sorted(ports)),
        endpoints=tuple(
            Endpoint(name, each["NetworkID"], each["IPAddress"])
            for name, each in sorted((row["NetworkSettings"]["Networks"] or {}).items())
        ),
    )


def _state(state: str, status: str) -> State:
    if state == "created":
        return State.CREATED
    if state in ("exited", "dead", "removing"):
        return State.STOPPED
    # Paused and restarting too: such a container holds on to its workspace and does not answer.
    if state != "running" or "(unhealthy)" in status:
        return State.UNHEALTHY
    return State.STARTING if "(health: starting)" in status else State.RUNNING
