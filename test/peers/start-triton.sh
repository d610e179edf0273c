#!/bin/bash
# Starts Triton in the foreground: start-triton.sh HOME MODEL PORT. Metrics at PORT + 2. Ends with SIGTERM.
set -euo pipefail
home=$1; model=$2; port=$3
python=$home/venv/bin/python
site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
library=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')
server=$site/pytriton/tritonserver
repository=$home/models-$port
rm -rf "$repository"; mkdir -p "$repository/digits/1"
cp "$model" "$repository/digits/1/model.onnx"
cat > "$repository/digits/config.pbtxt" <<'CONFIG'
backend: "python"
max_batch_size: 64
input [ { name: "x", data_type: TYPE_FP32, dims: [ 1, 28, 28 ] } ]
output [ { name: "logits", data_type: TYPE_FP32, dims: [ 10 ] } ]
instance_group [ { kind: KIND_CPU, count: 1 } ]
CONFIG
cat > "$repository/digits/1/model.py" <<'MODEL'
import os
import sys

sys.path.insert(0, os.environ["PEER_SITE"])
import numpy
import onnxruntime
import triton_python_backend_utils as backend


class TritonPythonModel:
    def initialize(self, args):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        path = os.path.join(args["model_repository"], args["model_version"], "model.onnx")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def execute(self, requests):
        inputs = [backend.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        logits = self.session.run(["logits"], {"x": numpy.concatenate(inputs)})[0]
        answers, at = [], 0
        for one in inputs:
            rows = one.shape[0]
            answers.append(backend.InferenceResponse([backend.Tensor("logits", logits[at : at + rows])]))
            at += rows
        return answers
MODEL
PYTHONHOME=$("$python" -c 'import sys; print(sys.base_prefix)')
export PYTHONHOME PEER_SITE=$site LD_LIBRARY_PATH=$site/nvidia_pytriton.libs:$library
exec "$server/bin/tritonserver" --model-repository="$repository" --backend-directory="$home/backends" \
  --http-address=127.0.0.1 --http-port="$port" --allow-grpc=false --allow-metrics=true --metrics-address=127.0.0.1 --metrics-port=$((port + 2)) --exit-timeout-secs=3
