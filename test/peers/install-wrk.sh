#!/bin/bash
# wrk, the HTTP load generator (Debian package). Prints the path of the binary.
set -euo pipefail
mkdir -p "$1"
if ! command -v wrk >/dev/null; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "wrk is absent, and only root can install it here" >&2; exit 1; }
  { apt-get install -y -q wrk || { apt-get update -q && apt-get install -y -q wrk; }; } >&2
fi
command -v wrk
