#!/usr/bin/env bash
# Builds a wheel around a binary and tries it in a clean environment: packaging/wheel_test.sh BINARY
# It needs hatchling from the package index; where that cannot be had it says so and is left out.
set -euo pipefail
binary=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/builder"
"$work/builder/bin/pip" install -q hatchling==1.33.0 || { echo "wheel: left out, hatchling could not be had"; exit 0; }
cp -R "$here/python/." "$here/../LICENSE" "$here/../NOTICE" "$work"
(cd "$work" && VERSION=0.0.0 CUDACOMPAT_BINARY=$binary CUDACOMPAT_PLATFORM=linux_$(uname -m) \
    builder/bin/hatchling build -t wheel -d "$work/wheels" >/dev/null 2>&1)
python3 -m venv "$work/clean"
"$work/clean/bin/pip" install -q --no-index --find-links "$work/wheels" cudacompat

cd "$work"
[ "$(clean/bin/cudacompat check example:broken -o line | cut -d : -f 1)" = "FAIL driver-too-old" ]
[ "$(clean/bin/python -m cudacompat version)" = "$(clean/bin/cudacompat version)" ]
clean/bin/python - "$work/clean" <<'END'
import sys, cudacompat
report = cudacompat.doctor()
assert report["schema"] == "cudacompat/report/v1", report["schema"]
assert report["outcome"] in ("compatible", "incompatible", "inconclusive"), report["outcome"]
looked = [e["path"] for e in report["facts"]["environments"]]
assert looked == [sys.argv[1]] , f"looked at {looked}, not at the interpreter's {sys.argv[1]}"
try:
    cudacompat.doctor("--no-such-flag")
except cudacompat.Error as err:
    assert "--no-such-flag" in str(err), err
else:
    raise AssertionError("a refused flag raises nothing")
END
python3 "$here/quick.py" "$work/clean/bin/cudacompat"
echo "wheel: ok, $(stat -c %s wheels/*.whl) bytes"
