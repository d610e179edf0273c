#!/bin/bash
# Triton Inference Server 2.51.0 for the CPU, from the wheel nvidia-pytriton (server and Python backend only):
# the model runs in ONNX Runtime inside that backend. Prints the folder that start-triton.sh takes.
set -euo pipefail
home=$1; version=$2
mkdir -p "$home"
[ "$(uname -m)" = x86_64 ] || { echo "the wheel exists for x86_64 only" >&2; exit 1; }
python=${PYTHON:-python3}
[ "$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])')" = 3.11 ] || { echo "the wheel's backend needs Python 3.11 (set PYTHON)" >&2; exit 1; }
library=$($python -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')
[ -e "$library/libpython3.11.so.1.0" ] || ldconfig -p | grep -q libpython3.11.so.1.0 || { echo "libpython3.11.so.1.0 is absent (apt-get install libpython3.11)" >&2; exit 1; }
if [ ! -e "$home/ready-$version" ]; then
  "$python" -m venv "$home/venv"
  "$home/venv/bin/pip" install -q --disable-pip-version-check nvidia-pytriton==0.7.0 "onnxruntime==$version" >&2
  server=$("$home/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/pytriton/tritonserver
  mkdir -p "$home/backends"
  cp -r "$server/backends/python" "$home/backends/"
  install -m 755 "$server/python_backend_stubs/3.11/triton_python_backend_stub" "$home/backends/python/"
  touch "$home/ready-$version"
fi
echo "$home"
