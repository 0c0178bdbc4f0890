#!/bin/sh
# Says, before a build, what it lacks: Go, a Go that is new enough, a C compiler, and what is lost without it.
set -eu
cd "$(dirname "$0")/.."
least=$(sed -n 's/^go //p' go.mod)
newest=$(sed -n 's/^toolchain go//p' go.mod)

lacks() { printf 'cudacompat: %s\nhint: %s\n' "$1" "$2" >&2; exit 1; }
older() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

command -v go >/dev/null || lacks "it is built with Go, which is not here" \
    "https://go.dev/dl/, any release from 1.21 on: it fetches Go $newest by itself"
have=$(cd / && GOTOOLCHAIN=local go version | sed 's/^go version go\([0-9.]*\).*/\1/')
if older "$have" 1.21; then
    lacks "this is Go $have, go.mod asks for $least" \
        "https://go.dev/dl/, any release from 1.21 on: it fetches Go $newest by itself"
fi
# From 1.21 on the go command fetches the toolchain that go.mod names; where it may not, it has to be new enough itself.
said=$(go list -m 2>&1) || lacks "this is Go $have, go.mod asks for $least, and could not get it: $said" \
    "GOTOOLCHAIN=auto with a way to a module proxy, or https://go.dev/dl/"
if [ "$(go env GOOS) $(go env CGO_ENABLED)" = "linux 0" ]; then
    printf '%s\n' "cudacompat: built without NVML, since there is no C compiler (or CGO_ENABLED=0): the driver and the GPUs are" \
        "read from /proc, /sys and files. Faults that only NVML shows (ECC, Xid, NVLink, MIG) stay unknown." \
        "hint: apt-get install gcc libc6-dev, or dnf install gcc glibc-devel, then the same again" >&2
fi
