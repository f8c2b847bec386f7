"""The activation of the network is the exact one."""

from __future__ import annotations

import math

import numpy as np

from cspace.index.bert import gelu


def test_gelu_equals_its_definition_as_far_as_its_numbers_reach() -> None:
    values = np.linspace(-12, 12, 20_001, dtype=np.float32)
    exact = [x * (0.5 + 0.5 * math.erf(x / math.sqrt(2))) for x in values.tolist()]
    beside = np.abs(gelu(values.copy()) - exact)
    assert (beside / np.maximum(1, np.abs(values))).max() < 3e-7
