#!/usr/bin/env bash
# Builds a wheel for this machine around a binary: packaging/wheel.sh BINARY DIR
# It needs python3 with venv, and hatchling from the package index.
set -euo pipefail
binary=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/builder"
"$work/builder/bin/pip" install -q hatchling==1.33.0
cp -R "$here/python/." "$here/../LICENSE" "$here/../NOTICE" "$work"
cd "$work"
rm -f "$out"/cudacompat-*.whl
VERSION=${VERSION:-0.0.0} CUDACOMPAT_BINARY=$binary CUDACOMPAT_PLATFORM=linux_$(uname -m) \
    builder/bin/hatchling build -t wheel -d "$out" >/dev/null 2>&1
ls "$out"/cudacompat-*.whl
