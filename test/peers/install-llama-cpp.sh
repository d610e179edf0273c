#!/bin/bash
# llama.cpp behind the OpenAI-compatible server of llama-cpp-python (MIT). PyPI has its source only, so the first
# time compiles it (about ten minutes on two cores). Prints the folder that start-llama-cpp.sh takes.
set -euo pipefail
home=$1; version=0.3.36
command -v g++ >/dev/null || { echo "g++ is absent (apt-get install g++)" >&2; exit 1; }
mkdir -p "$home"; home=$(cd "$home" && pwd)
[ ! -e "$home/ready-$version" ] || { echo "$home"; exit; }
[ -x "$home/venv/bin/pip" ] || "${PYTHON:-python3}" -m venv "$home/venv"
pip() { "$home/venv/bin/pip" "$@" -q --disable-pip-version-check >&2; }
if ! ls "$home"/llama_cpp_python-"$version"-*.whl >/dev/null 2>&1; then
  pip install scikit-build-core==1.1.2 cmake==3.31.10 ninja==1.13.0
  pip download --no-deps --no-binary :all: --no-build-isolation -d "$home" "llama-cpp-python==$version"
  tar xzf "$home/llama_cpp_python-$version.tar.gz" -C "$home"
  # The server needs neither llama.cpp's own tools nor its helpers for them.
  echo 'set(LLAMA_BUILD_COMMON OFF)' > "$home/small.cmake"
  export CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} PATH="$home/venv/bin:$PATH"
  export CMAKE_ARGS="-DLLAVA_BUILD=OFF -DGGML_NATIVE=OFF -DGGML_CCACHE=OFF -DCMAKE_PROJECT_llama.cpp_INCLUDE=$home/small.cmake"
  pip wheel --no-deps --no-build-isolation -C wheel.exclude="/lib/**;/include/**;/bin/**" -w "$home" "$home/llama_cpp_python-$version"
  rm -rf "$home/llama_cpp_python-$version"
fi
pip install "$home"/llama_cpp_python-"$version"-*.whl fastapi==0.165.0 uvicorn==0.54.0 sse-starlette==3.7.0 \
  starlette-context==0.3.6 pydantic-settings==2.16.3 PyYAML==6.0.4
"$home/venv/bin/python" -c 'import llama_cpp.server.app'
touch "$home/ready-$version"
echo "$home"
