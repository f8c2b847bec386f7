"""The Engine protocol over a real Docker daemon, where the installed cspace does not reach."""

from __future__ import annotations

import gc
import json
import socket
import threading
import uuid
from collections import UserDict
from collections.abc import ItemsView, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cspace import proc
from cspace.engine.docker import DockerEngine
from cspace.engine.model import Build, Composition, Container, Mount, State
from cspace.errors import CommandFailed, EngineUnavailable
from cspace.files import Owner

pytestmark = [
    pytest.mark.docker,
    # The Docker library leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

BASE = "debian:bookworm-slim"
LABEL = "dev.cspace.test"
SOMEBODY = Owner(12345, 12346)


def run_once(
    engine: DockerEngine, image: str, argv: tuple[str, ...], mounts: tuple[Mount, ...], user: Owner
) -> proc.Result:
    with engine.start_once(image, argv, mounts, user) as answer:
        return answer()


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Close the library's sockets where that is not taken for somebody else's mistake."""
    yield
    gc.collect()


@pytest.fixture
def engine() -> DockerEngine:
    return DockerEngine()


@pytest.fixture
def mark(engine: DockerEngine) -> Iterator[dict[str, str]]:
    """Return the label of this test's own containers, networks and volumes; remove them after."""
    labels = {LABEL: uuid.uuid4().hex}
    yield labels
    engine.remove_all(labels)


def start(mark: dict[str, str], *words: str, options: tuple[str, ...] = ()) -> str:
    """Start a container in the background; return its id."""
    ((key, value),) = mark.items()
    label = f"--label={key}={value}"
    return proc.run("docker", "run", "--detach", "--init", label, *options, BASE, *words).text


def only(engine: DockerEngine, mark: dict[str, str]) -> Container:
    (container,) = engine.list_containers(mark)
    return container


def test_an_engine_that_answers_says_who_it_is(engine: DockerEngine) -> None:
    engine.ping()
    assert engine.identify() == proc.run("docker", "info", "--format", "{{.ID}}").text


def test_docker_down_hazard_every_question_to_a_missing_engine_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    absent = DockerEngine()
    build = Build(tmp_path, ("cspace-test:never",), {}, {})
    composition = Composition("cspace-test-never", tmp_path / "compose.yaml")
    questions = (
        absent.ping,
        absent.identify,
        lambda: absent.list_containers({LABEL: "any"}),
        lambda: absent.sees({tmp_path / "marker": b""}),
        lambda: absent.has_image(BASE),
        lambda: absent.build_image(build, print),
        lambda: run_once(absent, BASE, ("true",), (), SOMEBODY),
        lambda: absent.start_composition(composition, recreate=False, on_line=print),
        lambda: absent.wait({LABEL: "any"}, timeout=1),
        lambda: absent.remove_all({LABEL: "any"}),
        lambda: absent.list_labels({LABEL: "any"}),
        lambda: absent.list_images({LABEL: "any"}),
        lambda: absent.remove_image("cspace-test:never"),
    )
    for ask in questions:
        with pytest.raises(EngineUnavailable, match="Docker does not answer") as caught:
            ask()
        assert caught.value.hint


def test_an_engine_that_hangs_up_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        with pytest.raises(EngineUnavailable):
            DockerEngine().ping()
        thread.join()


def test_a_context_that_does_not_exist_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONTEXT", "nowhere")
    with pytest.raises(EngineUnavailable, match="nowhere") as caught:
        DockerEngine().ping()
    assert "docker context ls" in (caught.value.hint or "")


def test_it_sees_only_the_very_files_that_were_written(
    engine: DockerEngine, tmp_path: Path
) -> None:
    one, other, absent = (tmp_path / name / "marker" for name in ("one", "other", "absent"))
    for file in (one, other):
        file.parent.mkdir()
        file.write_bytes(b"mine")
    assert engine.sees({one: b"mine", other: b"mine"})
    assert not engine.sees({one: b"mine", other: b"another's"})
    assert not engine.sees({one: b"mine", one.with_name("absent"): b"mine"})
    assert not engine.sees({one: b"mine", absent: b"mine"})
    assert not absent.parent.exists()


def test_looking_at_the_file_system_leaves_no_container(
    engine: DockerEngine, tmp_path: Path
) -> None:
    (tmp_path / "marker").write_bytes(b"mine")
    assert engine.sees({tmp_path / "marker": b"mine"})
    mounted = f"--filter=volume={tmp_path}"
    assert proc.run("docker", "ps", "--all", "--quiet", mounted).text == ""


class Looking(UserDict[Path, bytes]):
    """Markers that keep, while they are compared, what the engine says of who compares them."""

    def __init__(self, markers: Mapping[Path, bytes], mark: Mapping[str, str]) -> None:
        super().__init__(markers)
        self.filters = [f"--filter=label={key}={value}" for key, value in mark.items()]
        self.seen: list[dict[str, Any]] = []

    def items(self) -> ItemsView[Path, bytes]:
        found = proc.run("docker", "ps", "--all", "--quiet", *self.filters).text.split()
        self.seen = json.loads(proc.run("docker", "inspect", *found).text)
        return super().items()


def test_what_looks_at_the_file_system_never_starts_and_can_only_read(
    engine: DockerEngine, mark: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "probe-marker")
    (tmp_path / "marker").write_bytes(b"mine")
    markers = Looking({tmp_path / "marker": b"mine"}, mark)
    assert engine.sees(markers, labels=mark)
    (probe,) = markers.seen
    assert probe["State"]["StartedAt"].startswith("0001-01-01")
    assert [mount["RW"] for mount in probe["Mounts"]] == [False]
    assert "probe-marker" not in json.dumps(probe)


def test_containers_are_found_by_all_their_labels_stopped_ones_too(
    engine: DockerEngine, mark: dict[str, str]
) -> None:
    first = start(mark, "sleep", "60", options=("--label=kind=one", "--publish=127.0.0.1::80"))
    second = start(mark, "true", options=("--label=kind=two",))
    proc.run("docker", "wait", second)
    found = {each.labels["kind"]: each for each in engine.list_containers(mark)}
    assert {kind: each.id for kind, each in found.items()} == {"one": first, "two": second}
    assert (found["one"].state, found["two"].state) == (State.RUNNING, State.STOPPED)
    (port,) = found["one"].ports
    assert (port.container, port.host) == (80, "127.0.0.1")
    assert port.host_port > 0
    (one,) = engine.list_containers({**mark, "kind": "one"})
    assert one == found["one"]
    assert engine.list_containers({**mark, "kind": "three"}) == ()


@pytest.mark.parametrize(
    ("check", "expected"), [("true", State.RUNNING), ("false", State.UNHEALTHY)]
)
def test_health_is_part_of_a_containers_state(
    engine: DockerEngine, mark: dict[str, str], check: str, expected: State
) -> None:
    health = (f"--health-cmd={check}", "--health-interval=1s", "--health-retries=1")
    start(mark, "sleep", "60", options=health)
    assert only(engine, mark).state is State.STARTING
    assert engine.wait(mark, timeout=30) is expected
    assert only(engine, mark).state is expected


def test_waiting_ends_in_time_and_when_a_container_has_ended(
    engine: DockerEngine, mark: dict[str, str]
) -> None:
    start(mark, "sleep", "60", options=("--health-cmd=true", "--health-interval=60s"))
    assert engine.wait(mark, timeout=0.1) is State.STARTING
    start(mark, "false")
    assert engine.wait(mark, timeout=30) is State.STOPPED


def test_stop_keeps_the_container_and_a_second_one_does_nothing(
    engine: DockerEngine, mark: dict[str, str]
) -> None:
    start(mark, "sh", "-c", "echo first; echo second; exec sleep 60")
    container = only(engine, mark)
    engine.stop(container)
    engine.stop(container)
    assert only(engine, mark).state is State.STOPPED
    assert engine.logs(container, tail=1) == "second\n"
    engine.remove_all(mark)
    engine.stop(container)


def test_removing_takes_containers_networks_and_volumes_of_these_labels_only(
    engine: DockerEngine, mark: dict[str, str]
) -> None:
    other = {LABEL: uuid.uuid4().hex}
    names = {}
    for labels in (mark, other):
        ((key, value),) = labels.items()
        start(labels, "sleep", "60")
        names[value] = f"cspace-test-{value}"
        for kind in ("network", "volume"):
            proc.run("docker", kind, "create", f"--label={key}={value}", names[value])
    engine.remove_all(mark)
    assert engine.list_containers(mark) == ()
    assert len(engine.list_containers(other)) == 1
    for kind in ("network", "volume"):
        words = ("docker", kind, "inspect")
        assert proc.run(*words, names[mark[LABEL]], ok=(1,)).code == 1
        assert proc.run(*words, names[other[LABEL]]).code == 0
    engine.remove_all(other)
    engine.remove_all(other)
    assert engine.list_containers(other) == ()


@pytest.mark.parametrize("code", [0, 1, 3, 42, 124])
def test_every_exit_code_of_a_throw_away_program_is_an_answer(
    engine: DockerEngine, code: int
) -> None:
    script = f"echo out; echo err >&2; exit {code}"
    answer = run_once(engine, BASE, ("sh", "-c", script), (), SOMEBODY)
    assert (answer.code, answer.stdout, answer.stderr) == (code, b"out\n", b"err\n")


def test_what_docker_itself_refuses_to_run_is_a_failure(
    engine: DockerEngine, tmp_path: Path
) -> None:
    with pytest.raises(CommandFailed, match="no-such-program"):
        run_once(engine, BASE, ("no-such-program",), (), SOMEBODY)
    with pytest.raises(CommandFailed, match="cspace-test:absent"):
        run_once(engine, "cspace-test:absent", ("true",), (), SOMEBODY)
    with pytest.raises(CommandFailed, match="absent"):
        run_once(engine, BASE, ("true",), (Mount(tmp_path / "absent", "/mnt"),), SOMEBODY)
    assert not (tmp_path / "absent").exists()


def test_a_throw_away_container_has_no_network_no_privileges_and_a_user_of_ours(
    engine: DockerEngine,
) -> None:
    script = "id -u; id -g; grep -E 'CapEff|NoNewPrivs' /proc/self/status; ls /sys/class/net"
    said = run_once(engine, BASE, ("sh", "-c", script), (), SOMEBODY).text.split()
    expected = ["12345", "12346", "CapEff:", "0000000000000000", "NoNewPrivs:", "1", "lo"]
    assert sorted(said) == sorted(expected)


def test_mounts_of_any_name_are_seen_and_a_read_only_one_is_not_written(
    engine: DockerEngine, tmp_path: Path
) -> None:
    odd = tmp_path / 'a "quoted", colon: é\'s'
    odd.mkdir()
    odd.chmod(0o777)
    script = ("sh", "-c", "echo written >/mnt/file")
    assert run_once(engine, BASE, script, (Mount(odd, "/mnt", read_only=True),), SOMEBODY).code != 0
    assert run_once(engine, BASE, script, (Mount(odd, "/mnt"),), SOMEBODY).code == 0
    assert (odd / "file").read_text(encoding="utf-8") == "written\n"
    assert (odd / "file").stat().st_uid == 12345


def test_a_build_reports_its_steps_and_has_its_names_and_labels(
    engine: DockerEngine, tmp_path: Path
) -> None:
    text = f"FROM {BASE}\nARG WORD\nRUN echo $WORD >/word\n"
    (tmp_path / "Dockerfile").write_text(text, encoding="utf-8")
    tag = f"cspace-test:{uuid.uuid4().hex}"
    lines: list[str] = []
    assert not engine.has_image(tag)
    engine.build_image(Build(tmp_path, (tag,), {"WORD": "said"}, {LABEL: "built"}), lines.append)
    try:
        assert engine.has_image(tag, labels={LABEL: "built"})
        assert not engine.has_image(tag, labels={LABEL: "otherwise"})
        assert any("RUN echo" in line for line in lines)
        assert run_once(engine, tag, ("cat", "/word"), (), SOMEBODY).stdout == b"said\n"
        label = f'{{{{index .Config.Labels "{LABEL}"}}}}'
        assert proc.run("docker", "image", "inspect", "--format", label, tag).text == "built"
    finally:
        proc.run("docker", "image", "rm", tag)


def test_a_build_that_fails_says_why_also_behind_a_long_instruction(
    engine: DockerEngine, tmp_path: Path
) -> None:
    long = " \\\n".join(f"    echo line {number};" for number in range(12))
    text = f"FROM {BASE}\nRUN echo the reason >&2; exit 7; \\\n{long} \\\n    true\n"
    (tmp_path / "Dockerfile").write_text(text, encoding="utf-8")
    tag = f"cspace-test:{uuid.uuid4().hex}"
    with pytest.raises(CommandFailed) as caught:
        engine.build_image(Build(tmp_path, (tag,), {}, {}), print)
    assert [line for line in str(caught.value).splitlines() if line.endswith(" the reason")]
    assert "exit code: 7" in str(caught.value)
    assert not engine.has_image(tag)


def test_a_composition_is_started_awaited_and_not_made_anew_unasked(
    engine: DockerEngine, mark: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a person has set for a project of theirs.
    monkeypatch.setenv("COMPOSE_ENV_FILES", str(tmp_path / "absent"))
    ((key, value),) = mark.items()
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE.format(base=BASE, key=key, value=value), encoding="utf-8")
    composition = Composition(f"cspace-test-{value}", file)
    engine.start_composition(composition, recreate=False, on_line=print)
    first = only(engine, mark)
    assert engine.wait(mark, timeout=30) is State.RUNNING
    changed = file.read_text(encoding="utf-8").replace("sleep 60", "sleep 61")
    file.write_text(changed, encoding="utf-8")
    engine.start_composition(composition, recreate=False, on_line=print)
    assert only(engine, mark).id == first.id
    engine.start_composition(composition, recreate=True, on_line=print)
    assert only(engine, mark).id != first.id


def test_a_composition_that_is_wrong_is_refused_and_nothing_is_made(
    engine: DockerEngine, tmp_path: Path
) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text("services: {agent: {imagee: x}}\n", encoding="utf-8")
    wrong = Composition("cspace-test-wrong", file)
    with pytest.raises(CommandFailed, match="imagee"):
        engine.start_composition(wrong, recreate=False, on_line=print)
    label = {"com.docker.compose.project": wrong.name}
    assert engine.list_containers(label) == ()


COMPOSE = """\
services:
  agent:
    image: "{base}"
    pull_policy: never
    init: true
    command: ["sh", "-c", "sleep 1; touch /ready; sleep 60"]
    labels: {{ "{key}": "{value}" }}
    healthcheck:
      test: ["CMD", "test", "-e", "/ready"]
      interval: 30s
      start_period: 20s
      start_interval: 200ms
networks:
  default:
    labels: {{ "{key}": "{value}" }}
"""


def test_labels_are_listed_of_containers_networks_and_volumes(
    engine: DockerEngine, mark: dict[str, str]
) -> None:
    ((key, value),) = mark.items()
    start(mark, "true")
    for kind in ("network", "volume"):
        proc.run("docker", kind, "create", f"--label={key}={value}", f"cspace-test-{value}")
    found = engine.list_labels(mark)
    assert [labels[key] for labels in found] == [value] * 3
    assert value in {labels[key] for labels in engine.list_labels({key: ""})}


def test_an_image_is_listed_with_what_it_alone_takes_and_removed_by_its_name(
    engine: DockerEngine, mark: dict[str, str]
) -> None:
    ((key, value),) = mark.items()
    tag = f"cspace-test:{value}"
    container = start(mark, "sh", "-c", "head -c 3000000 /dev/urandom >/big")
    proc.run("docker", "wait", container)
    proc.run("docker", "commit", f"--change=LABEL {key}={value}", container, tag)
    (image,) = engine.list_images(mark)
    assert image.tags == (tag,)
    assert image.size is not None
    assert 3_000_000 <= image.size < 4_000_000
    proc.run("docker", "create", f"--label={key}={value}", tag, "true")
    with pytest.raises(CommandFailed, match="Docker said no"):
        engine.remove_image(tag)
    engine.remove_all(mark)
    engine.remove_image(tag)
    engine.remove_image(tag)
    assert engine.list_images(mark) == ()
