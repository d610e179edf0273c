#!/bin/bash
# Starts MLServer in the foreground: start-mlserver.sh HOME MODEL PORT. Metrics at PORT + 2. Ends with SIGTERM.
set -euo pipefail
home=$1; model=$2; port=$3
models=$home/models-$port
rm -rf "$models"; mkdir -p "$models/digits"
cp "$model" "$models/digits/model.onnx"
cat > "$models/digits/model-settings.json" <<'SETTINGS'
{ "name": "digits", "implementation": "digits_model.Digits", "parameters": { "uri": "./model.onnx", "version": "1" } }
SETTINGS
cat > "$models/digits_model.py" <<'MODEL'
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.errors import InferenceError
from mlserver.types import InferenceResponse, MetadataTensor
from mlserver.utils import get_model_uri


class Digits(MLModel):
    async def load(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        path = await get_model_uri(self._settings)
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = [MetadataTensor(name="x", datatype="FP32", shape=[-1, 1, 28, 28])]
        self.outputs = [MetadataTensor(name="logits", datatype="FP32", shape=[-1, 10])]
        return True

    async def predict(self, payload):
        inputs = {one.name: self.decode(one, default_codec=NumpyCodec) for one in payload.inputs}
        try:
            (logits,) = self.session.run(["logits"], inputs)
        except Exception as fault:
            raise InferenceError(str(fault)) from fault
        return InferenceResponse(
            id=payload.id, model_name=self.name, model_version=self.version, outputs=[NumpyCodec.encode_output("logits", logits)]
        )
MODEL
export PYTHONPATH=$models MLSERVER_HOST=127.0.0.1 MLSERVER_HTTP_PORT=$port MLSERVER_GRPC_PORT=$((port + 1)) MLSERVER_METRICS_PORT=$((port + 2))
# The model in the server's own process: a pool of workers puts a queue and a pickling between.
export MLSERVER_PARALLEL_WORKERS=0
cd "$home"
exec "$home/venv/bin/mlserver" start "$models"
