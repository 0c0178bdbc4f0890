# The wheels, from an index on this machine, by the three installers; and which environment is judged.
mkdir -p "$work/index/simple/cudacompat"
cp "$OUT"/wheels/*.whl "$work/index/simple/cudacompat"
INDEX=http://127.0.0.1:8155/simple
(cd "$work/index" && exec python3 -m http.server 8155 --bind 127.0.0.1 >/dev/null 2>&1) &
python_tools
"$work/tools/bin/twine" --no-color check --strict "$OUT"/wheels/*.whl | tr '\n' ' ' | grep -o 'PASSED' | sort | uniq -c |
    row "wheel" "all seven" "twine check --strict wheels/*.whl"
"$work/tools/bin/auditwheel" show "$OUT"/wheels/*manylinux*x86_64.whl | tr '\n' ' ' | grep -o 'is consistent with[^.]*"' |
    row "wheel" "manylinux x86_64" "auditwheel show"
"$work/tools/bin/mypy" --strict --cache-dir /dev/null "$PACKAGING/python/src/cudacompat" | row "wheel" "the Python package" "mypy --strict"

python3 -m venv "$work/venv"
start=$(date +%s.%N)
"$work/venv/bin/pip" install -q --index-url $INDEX cudacompat
# Without this machine's own Python on PATH, whose verdict may be another: nothing to compare is 3.
(cd / && PATH=/usr/bin:/bin "$work/venv/bin/cudacompat" doctor -o line) >"$work/verdict" || [ $? = 3 ] ||
    die "doctor in a clean venv: $(cat "$work/verdict")"
end=$(date +%s.%N)
awk "BEGIN { printf \"%.1f s from pip install to the verdict\n\", $end - $start }" >"$work/took"
row "wheel" "a clean venv, pip" "pip install cudacompat && cudacompat doctor" <"$work/took"
awk '{ exit !($1 < 10) }' "$work/took" || die "slower than 10 s: $(cat "$work/took")"
python3 "$PACKAGING/quick.py" "$work/venv/bin/cudacompat" |
    row "wheel" "the program in it" "cudacompat doctor, the best of 20 runs"
"$work/venv/bin/python" -m cudacompat check example:broken -o line --fail-on never | row "wheel" "a clean venv" "python -m cudacompat check example:broken -o line"
judged='import json, sys; print("judged", [e["path"] for e in json.load(sys.stdin)["facts"]["environments"] if e["active"]][0])'
short() { sed "s#$work#…#"; }
"$work/venv/bin/python" -c 'import cudacompat, json; print(json.dumps(cudacompat.doctor()))' |
    python3 -c 'import json, sys; print("judged", json.load(sys.stdin)["facts"]["environments"][0]["path"])' | short | row "wheel" "Python" "cudacompat.doctor()"

# With something to judge in it, a program that is called by its path judges its own environment.
touch "$work/index/empty"
mkdir -p "$work/project" && python3 -m venv "$work/project/.venv"
uv() { env -u VIRTUAL_ENV PATH="$work/tools/bin:/usr/bin:/bin" UV_CACHE_DIR="$work/uv" "$work/tools/bin/uv" "$@"; }
(cd "$work/project" && PWD=$work/project uv tool run --index-url $INDEX cudacompat doctor -o json 2>/dev/null || [ $? = 3 ]) |
    python3 -c "$judged" | short | row "wheel" "uvx, in a project with .venv" "uvx cudacompat doctor"
uv venv -q "$work/uvenv" && uv pip install -q --python "$work/uvenv/bin/python" --index-url $INDEX cudacompat
"$work/uvenv/bin/cudacompat" version | row "wheel" "uv" "uv pip install cudacompat && cudacompat version"
pipx() { env -u VIRTUAL_ENV PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/pipx/bin" PIP_INDEX_URL=$INDEX PATH="$work/tools/bin:/usr/bin:/bin" "$work/tools/bin/pipx" "$@"; }
(cd "$work/project" && pipx run --pip-args="--index-url $INDEX" cudacompat doctor -o json 2>/dev/null || [ $? = 3 ]) |
    python3 -c "$judged" | short | row "wheel" "pipx, in a project with .venv" "pipx run cudacompat doctor"
