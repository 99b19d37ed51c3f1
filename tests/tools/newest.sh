#!/usr/bin/env bash
# Installs the newest release of every range in the requirements into a folder of its own, says which, and runs the fast tests
# there, or what is named: tests/tools/newest.sh [pytest arguments].
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir -r requirements-dev.txt
"$folder/bin/python" --version
"$folder/bin/pip" freeze | grep -iE '^(torch|transformers|accelerate|gguf|safetensors|gradio|plotly|pandas|pytest|pytest-xdist|hypothesis|playwright|ruff)=='
if [ $# -eq 0 ]; then set -- -m "not slow and not real and not browser"; fi
OMP_NUM_THREADS=1 "$folder/bin/python" -m pytest "$@"
