#!/usr/bin/env bash
# Checks binaries as they are handed out: size, symbol ceiling, lazy binding, nothing needed but libc, and, where this
# machine can run them, that they start and know their version.
#
#	packaging/artefact.sh FILE…
set -euo pipefail

LARGEST=12000000   # bytes, stripped
CEILING=2.17       # the libc of manylinux_2_17 and of CentOS 7; Amazon Linux 2 has 2.26
LIBRARIES='^(libc|libdl|libpthread|libresolv)\.so\.[0-9]+$|^ld-linux-'

failed=
wrong() { printf '%s: %s\n' "$file" "$1" >&2; failed=1; }

# glibc FILE: the newest GLIBC_ version that it asks for.
glibc() { readelf -W --version-info "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_//'; }

# dynamic FILE: what holds of a binary that loads libraries.
dynamic() {
    local needs library
    needs=$(glibc "$1")
    [ "$(printf '%s\n%s\n' "$needs" "$CEILING" | sort -V | tail -n 1)" = "$CEILING" ] \
        || wrong "needs GLIBC_$needs; the ceiling is $CEILING"
    ! readelf -d "$1" | grep -qE 'BIND_NOW|FLAGS.*NOW' || wrong "bound at start-up: go-nvml would end it before main"
    for library in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        [[ $library =~ $LIBRARIES ]] || wrong "needs $library"
    done
    printf 'GLIBC_%s' "$needs"
}

for file; do
    size=$(stat -c %s "$file") libc=none
    [ "$size" -lt "$LARGEST" ] || wrong "$size bytes; the ceiling is $LARGEST"
    if readelf -d "$file" 2>/dev/null | grep -q NEEDED; then
        libc=$(dynamic "$file")
    fi
    case $(uname -m) in x86_64) here=linux-amd64 ;; aarch64) here=linux-arm64 ;; *) here=none ;; esac
    says=
    case $file in *-$here | *-$here-static | */cudacompat | */cudacompat-static)
        says=$("$file" version) || wrong "does not start" ;;
    esac
    printf '%-55s %9s bytes  %-12s %s\n' "$file" "$size" "$libc" "$says"
done
[ -z "$failed" ]
