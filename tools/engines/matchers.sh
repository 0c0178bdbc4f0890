#!/bin/bash
# Whether what `cudacompat requires` writes admits the hosts that it should, by those who enforce it and without a
# cluster: the node affinity by the matcher that kube-scheduler calls, on the labels that GPU feature discovery's code
# gives; NVIDIA_REQUIRE_CUDA by libnvidia-container's comparator. 52 artefacts on 16 pools of nodes; `cudacompat check`
# says where each runs.
#
# REAL names the program; BIN where `labels` of the module kubernetes is or will be; DSL a directory with dsl.c of
# libnvidia-container (src/cli/dsl.c), without which NVIDIA_REQUIRE_CUDA is left out. Needs go, python3, cc.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
BIN=${BIN:-$HOME/.cache/cudacompat-engines}
own=$here/kubernetes
pools=${POOLS:-$own/grid.csv}
mkdir -p "$BIN"
if [ ! -x "$BIN/labels" ] || [ -n "$(find "$own" -name '*.go' -newer "$BIN/labels")" ]; then
    (cd "$own" && nice go build -trimpath -o "$BIN/labels" \
        -ldflags "-X sigs.k8s.io/node-feature-discovery/source/local.featureFilesDir=features.d" .)
fi
if [ -n "${DSL:-}" ]; then
    touch "$work/dsl.h" "$work/utils.h" # require.c says what they would
    cp "$DSL/dsl.c" "$work"
    cc -I"$work" -o "$work/require" "$here/require.c"
fi

# Labels of each pool, with those of the kubelet.
tail -n +2 "$pools" | awk -F, '{print $4, $5, $6, $7, $8, $9}' | "$BIN/labels" gfd >"$work/gpu" 2>/dev/null
python3 - "$pools" "$work/gpu" >"$work/nodes" <<'END'
import csv, json, sys
for pool, labels in zip(csv.DictReader(open(sys.argv[1])), open(sys.argv[2])):
    print(json.dumps({**json.loads(labels), "kubernetes.io/arch": pool["arch"]}))
END

# The pools whose driver knows the GPU: another shows the runtime none. An image for x86 is not started on Arm.
while IFS=, read -r pool _ arch driver _ _ _ _ gpu; do
    said=$("$REAL" check torch==2.9.1+cu128 --driver "$driver" --gpu "$gpu" 2>&1) || true
    [[ $arch = arm64 || $said = *driver-too-old-for-gpu* || $said = *driver-drops-gpu* ]] || echo "$pool" >>"$work/asked"
done < <(tail -n +2 "$pools")

# What each artefact asks for, and where check says that it runs.
n=0
while read -r artefact; do
    n=$((n + 1))
    file=$work/$(printf %02d $n)
    tr ' ' '\n' <<<"$artefact" >"$file.txt"
    for format in nodeaffinity nvidia-require; do
        "$REAL" requires "$file.txt" --timeout 5m -o $format >"$file.$format" 2>/dev/null || rm "$file.$format"
    done
    while IFS=, read -r pool _ _ driver cuda capability _ _ gpu; do
        "$REAL" check "$file.txt" --timeout 5m --driver "$driver" --gpu "$gpu" -o line >/dev/null 2>&1 && code=0 || code=$?
        echo "$pool $code" >>"$file.check"
        { [ -x "$work/require" ] && [ -e "$file.nvidia-require" ] && grep -q "^$pool$" "$work/asked"; } || continue
        expression=$(sed -n 's/^NVIDIA_REQUIRE_CUDA=//p' "$file.nvidia-require")
        "$work/require" "$expression" "$driver" "$cuda" "$capability" && code=0 || code=$?
        echo "$pool $code" >>"$file.required"
    done < <(tail -n +2 "$pools")
done <"$own/artefacts.txt"
"$BIN/labels" match "$work"/*.nodeaffinity <"$work/nodes" >"$work/matched"

python3 - "$pools" "$work" <<'END' || failed=1
import csv, sys
from collections import Counter
from pathlib import Path
pools, work = [p["pool"] for p in csv.DictReader(open(sys.argv[1]))], Path(sys.argv[2])
asked = (work / "asked").read_text().split()
admitted = {"nodeaffinity": {}, "nvidia-require": {}}
for line in open(work / "matched"):
    file, node, yes = line.split()
    admitted["nodeaffinity"][file[:2], pools[int(node)]] = yes == "true"
for file in work.glob("*.required"):
    for pool, code in map(str.split, open(file)):
        admitted["nvidia-require"][file.stem, pool] = {"0": True, "1": False}[code]
bad = False
for form, cells in admitted.items():
    counts = Counter()
    for file in sorted(work.glob("*.check")):
        for pool, code in map(str.split, open(file)):
            silent = not (work / f"{file.stem}.{form}").exists()
            if form == "nvidia-require" and pool not in asked:
                continue
            counts["cells"] += 1
            runs, yes = code == "0", cells.get((file.stem, pool), False)
            counts["runs"] += runs
            counts["wrongly admitted"] += yes and code == "1"
            counts["not known"] += yes and code == "3"
            counts["wrongly refused"] += runs and not yes
            if yes != runs:
                print(f"  {form}: {(work / (file.stem + '.txt')).read_text().split()} on {pool}: check {code}, admitted {yes}")
    if not cells:
        print(f"left out: {form}")
        continue
    ok = not counts["wrongly admitted"] + counts["not known"] and counts["wrongly refused"] <= counts["runs"] / 100
    bad |= not ok
    print(f"{'ok    ' if ok else 'WRONG '} {form}: {counts['cells']} cells, {counts['runs']} run; "
          f"{counts['wrongly admitted']} that fail and {counts['not known']} that are not known are admitted, "
          f"{counts['wrongly refused']} that run refused")
sys.exit(bad)
END
exit $failed
