"""all-MiniLM-L6-v2 in this process: texts to tokens, tokens in batches through the network."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cspace.errors import CspaceError

if TYPE_CHECKING:
    # 0.3 s, for those who embed.
    from tokenizers import Tokenizer

    from cspace.index.bert import Network

DIMENSIONS = 384
# The tokens of one batch: more are no faster, and need more memory.
_BATCH_TOKENS = 512
# More than 256 tokens of almost any text; to tokenize all of a long one takes 1 s for each MB.
_ENOUGH_CHARACTERS = 8192
# Every core has a thread of ours. Threads of the linear algebra's own would wait for each other in
# loops: on two busy cores they make a batch ten times slower.
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: Tokenizer
    network: Network
    max_tokens: int


@dataclass(slots=True)
class MiniLM:
    """An Embedder; its vectors are those of sentence-transformers to 1e-4.

    Not frozen, since the first `embed` loads the model.

    Args:
        directory: of model.safetensors and tokenizer.json.
    """

    directory: Path
    id: str
    _loaded: _Loaded | None = None
    _loading: threading.Lock = field(default_factory=threading.Lock)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return DIMENSIONS

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector for each text, see `Embedder`."""
        model = self._load()
        cores = len(os.sched_getaffinity(0))
        if len(texts) == 1 or cores == 1:
            return _embed(model, texts, map, cores)
        with ThreadPoolExecutor(cores) as pool:
            return _embed(model, texts, pool.map, cores)

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self.directory)
            return self._loaded


def _load(directory: Path) -> _Loaded:
    try:
        with _one_thread():
            from tokenizers import Tokenizer  # noqa: PLC0415  see above

            from cspace.index import bert  # noqa: PLC0415
    except ImportError as error:
        raise CspaceError(
            f"what embeds texts can not be loaded: {error}",
            hint="pip install --force-reinstall 'cspace[semantic]', where cspace is installed",
        ) from error
    network = bert.load_network(directory / "model.safetensors")
    path = directory / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise CspaceError(
            f"{path} is damaged: {error}",
            hint=f"remove {directory}, then run: cspace notes reindex",
        ) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(bert.MAX_TOKENS)
    return _Loaded(tokenizer, network, bert.MAX_TOKENS)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let numpy start no threads of its own; it looks once, when it is first imported."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _embed(
    model: _Loaded, texts: Sequence[str], spread: Callable[..., Iterator[Any]], cores: int
) -> list[bytes]:
    rows = list(spread(lambda text: _tokenize(model, text), texts))
    batches = tuple(_batches([len(row) for row in rows], cores))
    vectors: list[bytes] = [b""] * len(texts)
    done = spread(lambda batch: model.network([rows[place] for place in batch]), batches)
    for batch, found in zip(batches, done, strict=True):
        for place, vector in zip(batch, found, strict=True):
            vectors[place] = vector.astype("<f4").tobytes()
    return vectors


def _tokenize(model: _Loaded, text: str) -> list[int]:
    # Bytes that were no UTF-8 stand in a text as lone surrogates, which have no encoding.
    whole = text.encode("utf-8", "replace").decode()
    begin = model.tokenizer.encode(whole[:_ENOUGH_CHARACTERS])
    # A token that ends before the cut is the same one in the whole text.
    is_full = len(begin.ids) == model.max_tokens and begin.offsets[-2][1] < _ENOUGH_CHARACTERS
    if is_full or len(whole) <= _ENOUGH_CHARACTERS:
        return list(begin.ids)
    return list(model.tokenizer.encode(whole).ids)


def _batches(lengths: Sequence[int], cores: int) -> Iterator[list[int]]:
    """Give the places of texts in batches of similar lengths, the longest first.

    There are enough of them for every core, where there are enough texts.
    """
    room = min(_BATCH_TOKENS, -(-sum(lengths) // cores))
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    while order:
        taken = max(1, room // lengths[order[0]])
        yield order[:taken]
        order = order[taken:]
