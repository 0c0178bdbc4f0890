#!/usr/bin/env bash
# Builds one wheel a platform from $OUT/bin into $OUT/wheels.
source "$(dirname "$0")/lib.sh"
LARGEST=7500000 # bytes: the largest, of Linux x86_64 with NVML, has 7.34 million; a new table of megabytes does not slip in
need python3 "apt-get install python3-venv"
BUILDER=$CACHE/hatchling-1.33.0
[ -x "$BUILDER/bin/hatchling" ] || { python3 -m venv "$BUILDER" && "$BUILDER/bin/pip" install -q hatchling==1.33.0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$PACKAGING/python/." "$TOP/LICENSE" "$TOP/NOTICE" "$work"
rm -rf "$OUT/wheels" && mkdir -p "$OUT/wheels"

# wheel BINARY PLATFORM: what is linked statically suits any libc, and pip takes a musllinux wheel on musl alone.
wheel() {
    say "wheel for $2"
    (cd "$work" && CUDACOMPAT_BINARY=$OUT/bin/$1 CUDACOMPAT_PLATFORM=$2 \
        "$BUILDER/bin/hatchling" build -t wheel -d "$OUT/wheels")
}

wheel cudacompat-linux-amd64 manylinux_2_17_x86_64.manylinux2014_x86_64
wheel cudacompat-linux-arm64 manylinux_2_17_aarch64.manylinux2014_aarch64
wheel cudacompat-linux-amd64-static musllinux_1_1_x86_64
wheel cudacompat-linux-arm64-static musllinux_1_1_aarch64
wheel cudacompat-darwin-amd64 macosx_12_0_x86_64 # the oldest that Go 1.26 runs on
wheel cudacompat-darwin-arm64 macosx_12_0_arm64
wheel cudacompat-windows-amd64.exe win_amd64

for file in "$OUT"/wheels/*.whl; do
    size=$(stat -c %s "$file")
    [ "$size" -le "$LARGEST" ] || die "$file: $size bytes; the ceiling is $LARGEST"
done
