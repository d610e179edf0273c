"""Calls an Open Inference Protocol server with NVIDIA's client and prints what it got as one JSON line."""

import json
import sys

import numpy
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

client = http.InferenceServerClient(url=sys.argv[1])
model = sys.argv[2]
image = (numpy.arange(784, dtype=numpy.float32) % 7 / 10).reshape(1, 1, 28, 28)


def infer(binary, name="x", to=model):
    tensor = http.InferInput(name, [1, 1, 28, 28], "FP32")
    tensor.set_data_from_numpy(image, binary_data=binary)
    wanted = [http.InferRequestedOutput("logits", binary_data=binary)]
    return client.infer(to, [tensor], outputs=wanted, request_id="r1")


def refused(call):
    try:
        call()
        return None
    except InferenceServerException as fault:
        return {"status": fault.status(), "message": fault.message()}


answer = infer(True)
print(
    json.dumps(
        {
            "live": client.is_server_live(),
            "ready": client.is_server_ready() and client.is_model_ready(model),
            "metadata": client.get_model_metadata(model),
            "id": answer.get_response()["id"],
            "binary": answer.as_numpy("logits").tolist(),
            "json": infer(False).as_numpy("logits").tolist(),
            "unknownModel": refused(lambda: infer(True, to="nope")),
            "unknownInput": refused(lambda: infer(True, name="nope")),
        }
    )
)
