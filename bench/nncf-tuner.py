"""OpenVINO with NNCF as a peer: quantises a model after training, and times it beside the unchanged one, both in OpenVINO on one thread.

python nncf-tuner.py MODEL ITEMS PAIRS
ITEMS: JSON Lines of {"part": "calibration" | "tuning" | "holdout", "shape": [...], "path": raw float32}, one model input.
Prints {"ms": [float, quantised], "ratios": [...], "outputs": folder of the quantised model's answers on the holdout}.
"""
import json
import logging
import sys
import tempfile
import time
from pathlib import Path

import nncf
import numpy as np
import openvino as ov

logging.disable(logging.CRITICAL)
model_path, items_path, pairs = sys.argv[1], sys.argv[2], int(sys.argv[3])
items = [json.loads(line) for line in Path(items_path).read_text().splitlines()]
read = lambda item: np.fromfile(item["path"], np.float32).reshape(item["shape"])
part = lambda name: [read(item) for item in items if item["part"] == name]
core = ov.Core()
settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
plain = core.read_model(model_path)
begun = time.perf_counter()
small = nncf.quantize(core.read_model(model_path), nncf.Dataset(part("calibration")), preset=nncf.QuantizationPreset.MIXED)
quantised_s = time.perf_counter() - begun
requests = [core.compile_model(one, "CPU", settings).create_infer_request() for one in (plain, small)]
tuning = part("tuning")[:32]
for request in requests:
    for x in tuning:
        request.infer([x])


def visit(request):
    times, end = [], time.perf_counter() + 0.12
    while time.perf_counter() < end or len(times) < 3:
        x = tuning[len(times) % len(tuning)]
        start = time.perf_counter()
        request.infer([x])
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1000


rounds = [[visit(request) for request in (requests if pair % 2 == 0 else requests[::-1])] for pair in range(pairs)]
rounds = [row if pair % 2 == 0 else row[::-1] for pair, row in enumerate(rounds)]
folder = Path(tempfile.mkdtemp(prefix="assay-nncf-"))
for k, x in enumerate(part("holdout")):
    answer = requests[1].infer([x])[0]
    answer.astype(np.float32).tofile(folder / f"{k}.bin")
    (folder / f"{k}.json").write_text(json.dumps(list(answer.shape)))
print(json.dumps({"ms": [float(np.median([row[k] for row in rounds])) for k in (0, 1)], "ratios": [row[1] / row[0] for row in rounds], "outputs": str(folder), "quantisedSeconds": quantised_s}))
