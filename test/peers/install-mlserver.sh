#!/bin/bash
# MLServer 1.7.1 (Apache-2.0) and ONNX Runtime for its model. Prints the folder that start-mlserver.sh takes.
set -euo pipefail
home=$1
"${PYTHON:-python3}" -c 'import sys; sys.exit(not (3, 9) <= sys.version_info[:2] < (3, 13))' || { echo "it needs Python 3.9 to 3.12 (set PYTHON)" >&2; exit 1; }
mkdir -p "$home"; home=$(cd "$home" && pwd)
if [ ! -e "$home/ready" ]; then
  [ -x "$home/venv/bin/pip" ] || "${PYTHON:-python3}" -m venv "$home/venv"
  "$home/venv/bin/pip" install -q --disable-pip-version-check mlserver==1.7.1 onnxruntime==1.23.2 >&2
  touch "$home/ready"
fi
echo "$home"
