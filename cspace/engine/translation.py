"""Turns the exceptions of the Docker library into ours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from docker.errors import (
    APIError,
    DockerException,
    ImageNotFound,
    NotFound,
    create_api_error_from_http_exception,
)
from requests.exceptions import HTTPError, RequestException

from cspace.errors import CommandFailed, CspaceError, EngineUnavailable


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn the library's exceptions into ours where they enter."""
    try:
        yield
    except (NotFound, ImageNotFound, CspaceError):
        raise
    except APIError as error:
        raise _refused(error) from error
    except HTTPError as error:  # of a call that is not the library's own
        try:
            create_api_error_from_http_exception(error)
        except APIError as said:
            raise _refused(said) from error
    except (DockerException, RequestException, OSError) as error:
        raise _unavailable(error) from error


@contextlib.contextmanager
def answering(ping: Callable[[], None]) -> Iterator[None]:
    """Run a program of Docker's: where it fails since no engine answers, say that.

    Raises:
        EngineUnavailable: the engine does not answer, before or after.
    """
    ping()
    try:
        yield
    except CommandFailed:
        ping()
        raise


def _refused(error: APIError) -> CommandFailed:
    return CommandFailed(f"Docker said no: {error.explanation or error}")


def _unavailable(error: BaseException) -> EngineUnavailable:
    """Say what the operating system said; the library wraps it several times."""
    reason: BaseException | None = error
    while reason is not None and not (isinstance(reason, OSError) and reason.strerror):
        inner = next((part for part in reason.args if isinstance(part, BaseException)), None)
        reason = inner or reason.__cause__ or reason.__context__
    if isinstance(reason, PermissionError):
        return EngineUnavailable(
            f"Docker does not answer: {reason.strerror}",
            hint="sudo usermod -aG docker $USER, then log in again; members can become root",
        )
    said = reason.strerror if isinstance(reason, OSError) else error
    return EngineUnavailable(
        f"Docker does not answer: {said}",
        hint="start it (systemctl start docker), or check DOCKER_HOST and docker context ls",
    )
