"""The network of all-MiniLM-L6-v2: six layers of BERT, the mean over a text's tokens, length 1."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cspace.index.safetensors import Array, map_tensors

Tokens = npt.NDArray[np.int64]

WIDTH = 384
MAX_TOKENS = 256
VOCABULARY = 30_522
_LAYERS = 6
_HEADS = 12
_HEAD_WIDTH = WIDTH // _HEADS
_INNER = 4 * WIDTH
_POSITIONS = 512
_EPSILON = np.float32(1e-12)
# Of rows at once in the inner layer, so that what lies between two steps stays in the core's cache.
_ROWS = 64

# The normal distribution less a half is x * above(x²) / below(x²) up to where it is flat: fitted by
# least squares to math.erf, at most 1.2e-8 beside it, which 32-bit floats can not show.
_FLAT = np.float32(5.7)
_ABOVE = (0.398942206, 0.0349386493, 0.00474065972, 0.00017936664, 6.3738251e-06, 2.15811164e-08)
_BELOW = (1.0, 0.254243678, 0.0292592121, 0.00194439902, 7.67582434e-05, 1.16495998e-06)


@dataclass(frozen=True, slots=True)
class _Linear:
    """Weights as they are stored, one row for each number that comes out."""

    weight: Array
    bias: Array

    def __call__(self, values: Array) -> Array:
        out: Array = values @ self.weight.T
        out += self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Norm:
    scale: Array
    shift: Array

    def __call__(self, values: Array) -> Array:
        """Normalise in place."""
        values -= values.mean(axis=-1, keepdims=True)
        variance = np.einsum("...i,...i->...", values, values)[..., None] / np.float32(WIDTH)
        values /= np.sqrt(variance + _EPSILON)
        values *= self.scale
        values += self.shift
        return values


@dataclass(frozen=True, slots=True)
class _Layer:
    query: _Linear
    key: _Linear
    value: _Linear
    attended: _Linear
    attended_norm: _Norm
    inner: _Linear
    outer: _Linear
    outer_norm: _Norm

    def __call__(self, values: Array, hidden: Array | None) -> Array:
        count, length, _ = values.shape
        flat = values.reshape(-1, WIDTH)
        parts = (part(flat) for part in (self.query, self.key, self.value))
        query, key, value = (_by_head(part, count, length) for part in parts)
        mixed = _attend(query, key, value, hidden).transpose(0, 2, 1, 3).reshape(-1, WIDTH)
        flat = self.attended_norm(self.attended(mixed) + flat)
        return self.outer_norm(self._widen(flat) + flat).reshape(values.shape)

    def _widen(self, flat: Array) -> Array:
        out = np.empty_like(flat)
        for begin in range(0, len(flat), _ROWS):
            rows = flat[begin : begin + _ROWS]
            out[begin : begin + _ROWS] = self.outer(gelu(self.inner(rows)))
        return out


def _by_head(flat: Array, count: int, length: int) -> Array:
    return flat.reshape(count, length, _HEADS, _HEAD_WIDTH).transpose(0, 2, 1, 3)


def _attend(query: Array, key: Array, value: Array, hidden: Array | None) -> Array:
    scores: Array = query @ key.transpose(0, 1, 3, 2)
    scores *= np.float32(_HEAD_WIDTH**-0.5)
    if hidden is not None:
        scores += hidden
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed: Array = scores @ value
    return mixed


def gelu(values: Array) -> Array:
    """Apply the exact GELU, x times the normal distribution of x, in place."""
    limited = np.clip(values, -_FLAT, _FLAT)
    squares = limited * limited
    limited *= _polynomial(_ABOVE, squares)
    limited /= _polynomial(_BELOW, squares)
    limited += np.float32(0.5)
    values *= limited
    return values


def _polynomial(factors: tuple[float, ...], at: Array) -> Array:
    result = at * np.float32(factors[-1])
    for factor in factors[-2:0:-1]:
        result += np.float32(factor)
        result *= at
    result += np.float32(factors[0])
    return result


@dataclass(frozen=True, slots=True)
class Network:
    """The mapped weights; several threads may use them at once."""

    words: Array
    positions: Array
    norm: _Norm
    layers: tuple[_Layer, ...]

    def __call__(self, rows: list[list[int]]) -> Array:
        """Return one vector of length 1 for each row of token ids.

        Args:
            rows: between one and MAX_TOKENS ids each, of similar lengths: all are filled up to the
                longest.
        """
        lengths = np.array([len(row) for row in rows])
        longest = int(lengths.max())
        tokens = np.zeros((len(rows), longest), dtype=np.int64)
        for number, row in enumerate(rows):
            tokens[number, : len(row)] = row
        seen = np.arange(longest) < lengths[:, None]
        hidden = None if seen.all() else _hide(seen)
        values = self.norm(self.words[tokens] + self.positions[:longest])
        for layer in self.layers:
            values = layer(values, hidden)
        return _pool(values, seen)


def _hide(seen: npt.NDArray[np.bool_]) -> Array:
    lowest = np.finfo(np.float32).min
    return np.where(seen, np.float32(0), lowest)[:, None, None, :].astype(np.float32)


def _pool(values: Array, seen: npt.NDArray[np.bool_]) -> Array:
    # Only the direction counts, so the sum does as well as the mean.
    summed: Array = np.einsum("blw,bl->bw", values, seen.astype(np.float32))
    summed /= np.linalg.norm(summed, axis=-1, keepdims=True)
    return summed


def load_network(path: Path) -> Network:
    """Map the weights of a safetensors file; they are read as they are first needed.

    Raises:
        CspaceError: the file is damaged, or holds another network.
        OSError: it can not be read.
    """
    tensors = map_tensors(path, _shapes())
    first = "embeddings"
    # Every token is of the first of two kinds, wherever it stands.
    positions = tensors[f"{first}.position_embeddings.weight"][:MAX_TOKENS]
    positions = positions + tensors[f"{first}.token_type_embeddings.weight"][0]
    return Network(
        words=tensors[f"{first}.word_embeddings.weight"],
        positions=positions,
        norm=_norm(tensors, f"{first}.LayerNorm"),
        layers=tuple(_layer(tensors, f"encoder.layer.{number}") for number in range(_LAYERS)),
    )


# Names within a layer, in the order of _Layer's fields, with (out, in) of a linear one.
_PARTS: dict[str, tuple[int, ...]] = {
    "attention.self.query": (WIDTH, WIDTH),
    "attention.self.key": (WIDTH, WIDTH),
    "attention.self.value": (WIDTH, WIDTH),
    "attention.output.dense": (WIDTH, WIDTH),
    "attention.output.LayerNorm": (WIDTH,),
    "intermediate.dense": (_INNER, WIDTH),
    "output.dense": (WIDTH, _INNER),
    "output.LayerNorm": (WIDTH,),
}


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (VOCABULARY, WIDTH),
        "embeddings.position_embeddings.weight": (_POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for number in range(_LAYERS):
        for part, shape in _PARTS.items():
            shapes[f"encoder.layer.{number}.{part}.weight"] = shape
            shapes[f"encoder.layer.{number}.{part}.bias"] = shape[:1]
    return shapes


def _norm(tensors: dict[str, Array], name: str) -> _Norm:
    return _Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _linear(tensors: dict[str, Array], name: str) -> _Linear:
    return _Linear(tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _layer(tensors: dict[str, Array], name: str) -> _Layer:
    query, key, value, attended, attended_norm, inner, outer, outer_norm = _PARTS
    return _Layer(
        query=_linear(tensors, f"{name}.{query}"),
        key=_linear(tensors, f"{name}.{key}"),
        value=_linear(tensors, f"{name}.{value}"),
        attended=_linear(tensors, f"{name}.{attended}"),
        attended_norm=_norm(tensors, f"{name}.{attended_norm}"),
        inner=_linear(tensors, f"{name}.{inner}"),
        outer=_linear(tensors, f"{name}.{outer}"),
        outer_norm=_norm(tensors, f"{name}.{outer_norm}"),
    )
