"""What can be set: every key with its type, its default, and what it takes in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from cspace.hostnames import NotAName, parse_pattern

# Whole words, so that MAX_OUTPUT_TOKENS and TOKENIZERS_PARALLELISM stay usable.
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|APIKEY|CREDENTIALS?|PAT|PASSPHRASE|[A-Z]+_PWD)(?:_|$)"
    r"|SECRET|PASSWORD|PASSWD|(?:API|ACCESS|PRIVATE)_KEY|_(?:KEY|PASS)$"
)
# Of a limit: what the machine suggests.
AUTO: Final = "auto"
DEFAULT_MODEL: Final = "all-MiniLM-L6-v2"
_SHOWN_LENGTH = 80
_UNITS = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True, slots=True)
class Expected:
    """What a key takes, in words for a person whose value was something else."""

    words: str


class SetBy(StrEnum):
    """Who may set a key. A project's files may be somebody else's."""

    ANYBODY = "user and project"
    # More than the user's own settings give is an error.
    PROJECT_LOWERS = "user; a project may only lower it"
    # Such a key reads files of the host, or chooses what everything else is built on.
    USER = "the user only"


@dataclass(frozen=True, slots=True)
class Widens:
    """In place of SetBy: the user sets the key freely, a project only once it is trusted.

    Attributes:
        allows: what a project gains by the key, for the person who decides.
        unless: the one value that a project gains nothing by; None for no such value.
    """

    allows: str
    unless: object = None


def _not_a_secret(name: str) -> str:
    if _SECRET_NAME.search(name.upper()):
        raise PydanticCustomError(
            "cspace_refused",
            "looks like a secret, and env shows in `docker inspect`",
            {"hint": f"keep the value in ~/.cspace/secrets/{name} (mode 600) instead"},
        )
    return name


def _a_pattern(text: str) -> str:
    try:
        return parse_pattern(text)
    except NotAName as error:
        reason = f"is {{text}}, {error.reason}"
        shown = json.dumps(text[:_SHOWN_LENGTH])
        raise PydanticCustomError(
            "cspace_refused", reason, {"text": shown, "hint": error.hint}
        ) from error


def _absolute(path: Path | None) -> Path | None:
    if path is not None and not path.is_absolute():
        raise ValueError(f"{path} is relative")
    return path


Port = Annotated[int, Field(ge=1, le=65535)]
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Domain = Annotated[str, AfterValidator(_a_pattern)]
VariableName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"), AfterValidator(_not_a_secret)
]


class _Group(BaseModel):
    # Strict: "3000" for a number or 1 for true is a mistake in a file, not a spelling.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Limits(_Group):
    """What one instance may use of the machine."""

    cpus: Annotated[
        Annotated[float, Field(gt=0)] | Literal["auto"] | None,
        Field(
            description="Processors, fractions too. Auto is all but one of the machine's from four"
            " on, else all. Null sets no limit."
        ),
        Expected('a number above 0, "auto", or null'),
        SetBy.PROJECT_LOWERS,
    ] = AUTO
    memory: Annotated[
        str | None,
        Field(
            pattern=r"^([1-9][0-9]{0,14}[bkmg]|auto)$",
            description="Memory with its unit: b, k, m or g. Auto is a quarter of the machine's,"
            " and at least 2g. Null sets no limit.",
        ),
        Expected('a size like "4g", "auto", or null'),
        SetBy.PROJECT_LOWERS,
    ] = AUTO
    pids: Annotated[
        Annotated[int, Field(ge=1)] | Literal["auto"] | None,
        Field(
            description="Processes and threads. Auto is an eighth of the machine's, between 512"
            " and 4096. Null sets no limit."
        ),
        Expected('a whole number above 0, "auto", or null'),
        SetBy.PROJECT_LOWERS,
    ] = AUTO


@dataclass(frozen=True, slots=True)
class Numbers:
    """Limits with what the machine suggests in place of "auto"; None sets no limit."""

    cpus: float | None
    memory: str | None
    pids: int | None


class Firewall(_Group):
    """What an instance may reach."""

    enabled: Annotated[
        bool,
        Field(description="Let instances reach allowed names only, through a proxy."),
        Expected("true or false"),
        Widens("lets instances reach every name and address", unless=True),
    ] = True
    domains: Annotated[
        tuple[Domain, ...],
        Field(
            description="Names that instances may reach beside the default set:"
            " example.com, or *.example.com with all below it."
        ),
        Expected("a list of names like example.com or *.example.com"),
        Widens("lets instances reach these names, and send there what they can read"),
    ] = ()
    host_ports: Annotated[
        tuple[Port, ...],
        Field(
            description="Ports of services on this machine that instances reach"
            " as host.docker.internal:PORT."
        ),
        Expected("a list of whole numbers from 1 to 65535"),
        Widens("lets instances reach these ports of services that run on this machine"),
    ] = ()


class Notes(_Group):
    """How memories of commits are found."""

    model: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$",
            max_length=200,
            description="The model that memories of commits are found by. Another one than the"
            " default needs the package sentence-transformers."
            " Only the user sets it, never a project's files.",
        ),
        Expected("a model's name"),
        SetBy.USER,
    ] = DEFAULT_MODEL


class Settings(_Group):
    """Settings of cspace: ~/.cspace/config.json, .cspace.json and .cspace.local.json."""

    ports: Annotated[
        tuple[Port, ...],
        Field(description="Container ports to publish on 127.0.0.1; the kernel picks the host's."),
        Expected("a list of whole numbers from 1 to 65535"),
        Widens("publishes these ports of instances on this machine, at 127.0.0.1"),
    ] = ()
    env: Annotated[
        Mapping[VariableName, Text],
        Field(description="Variables of the instance. Secrets go into ~/.cspace/secrets instead."),
        Expected("an object of variable names with texts"),
        Widens("sets variables in instances: they can run code, and send your logins elsewhere"),
    ] = Field(default_factory=dict)
    post_create: Annotated[
        Text,
        Field(description="A shell command to run in a new instance before it counts as ready."),
        Expected("a text"),
        Widens("runs this command in every new instance, where your logins can be read"),
    ] = ""
    limits: Annotated[Limits, Expected("an object")] = Limits()
    firewall: Annotated[Firewall, Expected("an object")] = Firewall()
    notes: Annotated[Notes, Expected("an object")] = Notes()
    ca_bundle: Annotated[
        Path | None,
        AfterValidator(_absolute),
        Field(
            description="CA certificates that image and instances trust; by default those of"
            " SSL_CERT_FILE, else the system's. Only the user sets it, never a project's files."
        ),
        Expected("the absolute path of a PEM file, or null"),
        SetBy.USER,
    ] = None
    base_image: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9][A-Za-z0-9._/:@-]*$",
            description="The Debian image that instances build on."
            " Only the user sets it, never a project's files.",
        ),
        Expected("an image's name"),
        SetBy.USER,
    ] = "debian:bookworm-slim"
    ready_timeout: Annotated[
        int,
        Field(ge=1, description="Seconds until a new instance must be ready."),
        Expected("a whole number of seconds above 0"),
        SetBy.ANYBODY,
    ] = 300


def iter_keys() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every key, groups too, with what it takes in words."""
    for path, field in _iter_fields(Settings):
        yield path, next(mark.words for mark in field.metadata if isinstance(mark, Expected))


def iter_rules() -> Iterator[tuple[tuple[str, ...], SetBy | Widens]]:
    """Yield every key but groups with who may set it."""
    for path, field in _iter_fields(Settings):
        if not _is_group(field):
            yield path, next(mark for mark in field.metadata if isinstance(mark, SetBy | Widens))


def _iter_fields(model: type[BaseModel]) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    for name, field in model.model_fields.items():
        yield (name,), field
        if _is_group(field):
            below = cast("type[BaseModel]", field.annotation)
            yield from (((name, *path), inner) for path, inner in _iter_fields(below))


def _is_group(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def parse_memory(text: str) -> int:
    """Return the bytes of a size that `limits.memory` accepts."""
    return int(text[:-1]) * _UNITS[text[-1]]
