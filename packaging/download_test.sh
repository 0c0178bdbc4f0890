#!/usr/bin/env bash
# Simulates a download of the release in DIST and runs the commands of SECURITY.md: packaging/download_test.sh DIST
set -euo pipefail
dist=$(realpath "$1")
security=$(cd "$(dirname "$0")/.." && pwd)/SECURITY.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
wrong() { printf 'download: %s\n' "$*" >&2; exit 1; }

# The forge lists all files of a release in one directory.
find "$dist" -type f -exec cp -t . {} +
listed=$(wc -l <SHA256SUMS)
[ "$listed" = $(($(find . -type f | wc -l) - 1)) ] || wrong "SHA256SUMS lists $listed files of $(find . -type f | wc -l)"

check=$(sed -n 's/^    \(sha256sum .*\)/\1/p' "$security")
[ -n "$check" ] || wrong "SECURITY.md names no command with sha256sum"
[ "$(sh -c "$check" | grep -c ': OK$')" = "$listed" ] || wrong "of all files: $check"

# One file and the list, as most people download it; then the same file with one changed byte.
one=$(basename "$(find "$dist/bin" -type f | sort | head -n 1)")
find . -type f ! -name "$one" ! -name SHA256SUMS -delete
[ "$(sh -c "$check")" = "$one: OK" ] || wrong "of one file: $check"
printf x >>"$one"
! sh -c "$check" >/dev/null 2>&1 || wrong "a changed file passes: $check"
echo "all $listed as listed"
