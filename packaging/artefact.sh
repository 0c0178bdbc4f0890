#!/usr/bin/env bash
# Checks the binaries of a release: size, required libc version, lazy binding, and no needed library except libc. If this
# machine can run them, it also checks that they start, print their version and give a verdict.
#
#	packaging/artefact.sh FILE…              those of a release
#	packaging/artefact.sh --local FILE…      built on this machine: its libc's version of a symbol may be newer
set -euo pipefail

LARGEST=24000000 # bytes, stripped
CEILING=2.17     # the libc of manylinux_2_17 and of CentOS 7; Amazon Linux 2 has 2.26
LIBRARIES='^(libc|libdl|libpthread|libresolv)\.so\.[0-9]+$|^ld-linux-'
SYMBOLS=$(dirname "$0")/symbols.txt

local=
[ "${1:-}" != --local ] || { local=1; shift; }
failed=
wrong() { printf '%s: %s\n' "$file" "$1" >&2; failed=1; }

# glibc FILE: prints the newest GLIBC_ version that it requires.
glibc() { readelf -W --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_//'; }

# asked FILE: prints its undefined symbols, except NVML's.
asked() { readelf -W --dyn-syms "$1" | awk '$7 == "UND" && $8 != "" { sub(/@.*/, "", $8); print $8 }' | grep -v '^nvml' | sort -u; }

# dynamic FILE: checks a dynamically linked binary.
dynamic() {
    local needs names library
    needs=$(glibc "$1")
    if [ -z "$local" ] && [ "$(printf '%s\n%s\n' "$needs" "$CEILING" | sort -V | tail -n 1)" != "$CEILING" ]; then
        wrong "needs GLIBC_$needs; the ceiling is $CEILING"
    fi
    names=$(asked "$1" | grep -vxFf "$SYMBOLS" | tr '\n' ' ') || true
    [ -z "$names" ] || wrong "asks libc for ${names}which symbols.txt does not have: add what glibc $CEILING has, else do without"
    ! readelf -d "$1" | grep -qE 'BIND_NOW|FLAGS.*NOW' || wrong "bound at start-up: go-nvml would end it before main"
    for library in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        [[ $library =~ $LIBRARIES ]] || wrong "needs $library"
    done
    libc=GLIBC_$needs
}

# starts FILE: checks that it prints its version and finds nothing to judge in a tree without CUDA.
starts() {
    local code=0
    says=$("$1" version) || wrong "does not start"
    "$1" doctor --root "$(dirname "$0")" >/dev/null || code=$?
    [ "$code" = 3 ] || wrong "doctor on a tree without CUDA exits $code, not 3"
}

case $(uname -s)-$(uname -m) in
    Linux-x86_64) here=linux-amd64 ;;
    Linux-aarch64) here=linux-arm64 ;;
    *) here=none ;;
esac
for file; do
    size=$(stat -c %s "$file") libc=none says=
    [ "$size" -lt "$LARGEST" ] || wrong "$size bytes; the ceiling is $LARGEST"
    if readelf -d "$file" 2>/dev/null | grep -q NEEDED; then
        dynamic "$file"
    fi
    case $local-${file##*/} in
        1-* | *-cudacompat-$here | *-cudacompat-$here-static) starts "$file" ;;
    esac
    printf '%-35s %9s bytes  %-12s %s\n' "${file##*/}" "$size" "$libc" "$says"
done
[ -z "$failed" ]
