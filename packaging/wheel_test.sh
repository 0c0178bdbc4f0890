#!/usr/bin/env bash
# Builds a wheel around a binary and tries it in a clean environment: packaging/wheel_test.sh BINARY
# It needs hatchling from the package index; where that cannot be had it says so and is left out.
set -euo pipefail
binary=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$here/wheel.sh" "$binary" "$work/wheels" >/dev/null || { echo "wheel: left out, it could not be built"; exit 0; }
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

def raised(kind, call, *words, **more):
    try:
        call(*words, **more)
    except kind as err:
        return str(err)
    raise AssertionError(f"{call.__name__}{words} raises nothing")

l4 = {"driver": "550.90.07", "gpu": "L4"}
assert cudacompat.check("torch==2.8.0", **l4)["outcome"] == "compatible"
assert cudacompat.check(["torch==2.9.0+cu130", "torchvision==0.24.0"], **l4)["outcome"] == "incompatible"
with open("requirements.txt", "w") as file:
    file.write("torch==2.9.0+cu130\n")
import pathlib
assert cudacompat.check(pathlib.Path("requirements.txt"), **l4)["outcome"] == "incompatible"
assert cudacompat.require_compatible(["torch==2.8.0"], **l4) is None
text = raised(cudacompat.Incompatible, cudacompat.require_compatible, ["torch==2.9.0+cu130"], **l4)
assert "needs driver >= 580" in text and "\nfix: pip install torch==2.9.0+cu1" in text, text
assert cudacompat.require_compatible(["torch"]) is None
raised(cudacompat.Incompatible, cudacompat.require_compatible, ["torch"], unknown=True)
assert cudacompat.require_compatible(**l4) is None
assert cudacompat.torch_index_url("550.90.07", "L4", torch="2.9", python="3.12") == "https://download.pytorch.org/whl/cu126"
assert cudacompat.torch_index_url("580.95.05", ["9.0", "9.0"]).startswith("https://download.pytorch.org/whl/cu13")
assert "does not support" in raised(cudacompat.Incompatible, cudacompat.torch_index_url, "450.80.02", "B200")
assert "--gpu nosuch" in raised(cudacompat.Error, cudacompat.torch_index_url, "550.90.07", "nosuch")
assert "cannot find" not in raised(cudacompat.Error, cudacompat.check, pathlib.Path("nowhere.txt"))
END
python3 -m venv "$work/checker"
if "$work/checker/bin/pip" install -q mypy==1.18.2; then
    "$work/checker/bin/mypy" --strict --python-executable "$work/clean/bin/python" "$here/python/src/cudacompat/__init__.py"
fi
python3 "$here/quick.py" "$work/clean/bin/cudacompat"
echo "wheel: ok, $(stat -c %s wheels/*.whl) bytes"
