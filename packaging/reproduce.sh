#!/usr/bin/env bash
# Builds a release twice and compares every byte. The two clones of this checkout's commit lie at different depths, and each
# has its own compiler cache. The second has another host name, user name, time zone, locale and umask.
#
#	VERSION=0.1.0 packaging/reproduce.sh     half an hour on two cores, 2 GB in TMPDIR
source "$(dirname "$0")/lib.sh"
[ "$VERSION" != 0.0.0 ] || die "which version? VERSION=0.1.0 packaging/reproduce.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# release PLACE NAME=VALUE...: builds one of the two and keeps only the result.
release() {
    local place=$work/$1
    shift
    git clone -q "$TOP" "$place"
    git -C "$place" checkout -q "$COMMIT"
    mkdir "$work/cache"
    env -u SOURCE_DATE_EPOCH OUT="$place/dist" GOCACHE="$work/cache" "$@" "$place/packaging/release.sh"
    mv "$place/dist" "$work/dist-${place##*/}"
    rm -rf "$place" "$work/cache"
}
release first
(umask 077 && release somewhere/else/second unshare --uts --map-root-user sh -c 'hostname elsewhere && exec "$@"' - \
    env TZ=Asia/Tokyo LC_ALL=C USER=somebody LOGNAME=somebody)

cd "$work"
if ! diff -rq dist-first dist-second; then
    die "two builds of the same sources differ"
fi
say "$(find dist-first -type f | wc -l) files, the same twice: SHA256SUMS is $(sha256sum <dist-first/SHA256SUMS | cut -c 1-16)…"
