#!/bin/bash
# tritonclient, NVIDIA's own client of Open Inference Protocol (PyPI). Prints the path of a Python that has it.
set -euo pipefail
mkdir -p "$1"
if ! "$1/venv/bin/python" -c 'import tritonclient.http' 2>/dev/null; then
  "${PYTHON:-python3}" -m venv "$1/venv"
  "$1/venv/bin/pip" install -q --disable-pip-version-check 'tritonclient[http]==2.73.0' numpy >&2
fi
echo "$1/venv/bin/python"
