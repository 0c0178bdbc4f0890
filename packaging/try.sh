#!/usr/bin/env bash
# Tries every channel of a release in a clean root and writes the commands and their output to packaging/TRIED.md.
#
#	packaging/try.sh                $OUT (dist/) holds what release.sh made; some ten minutes, 3 GB in the cache
#	packaging/try.sh wheels         one part of it, while you mend it; the page stays as it is
#
# It needs Debian with mmdebstrap, bubblewrap, qemu-user-static, lintian and rpmlint. It contacts only Debian's mirror and
# Python's package index, and stops at the first failure.
source "$(dirname "$0")/lib.sh"
[ -e "$OUT/SHA256SUMS" ] || die "$OUT holds no release: VERSION=… packaging/release.sh first"
VERSION=$(basename "$OUT"/cudacompat-tables-*.zip .zip)
VERSION=${VERSION#cudacompat-tables-}
export VERSION
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
rows=$work/rows
unset PIP_FIND_LINKS PIP_INDEX_URL VIRTUAL_ENV # settings of this machine's user

# row CHANNEL PLATFORM COMMAND: writes a row of the table. The last line of standard input is the command's output.
row() {
    local printed
    printed=$(grep -v '^$' | tail -n 1 | cut -c 1-110 | sed 's/|/\\|/g; s/`/ /g')
    [ -n "$printed" ] || die "$1, $2: $3 printed nothing"
    printf '| %s | %s | `%s` | `%s` |\n' "$1" "$2" "${3//|/\\|}" "$printed" | tee -a "$rows"
}

# debian RELEASE PACKAGES: prints the path of a new copy of a root, which the cache keeps as a tar.
debian() {
    local tar=$CACHE/try-$1.tar root
    [ -e "$tar" ] || mmdebstrap --variant=minbase --include="$2" "$1" "$tar" ${MIRROR:+"$MIRROR"} >&2
    root=$work/$1-$RANDOM
    mkdir "$root"
    tar -C "$root" -xf "$tar" --exclude='./dev/*'
    printf '%s\n' "$root"
}

# python_tools installs the checkers of wheels and bills of materials into $work/tools, once.
python_tools() {
    [ ! -e "$work/tools" ] || return 0
    python3 -m venv "$work/tools"
    # shellcheck disable=SC2102 # an extra, not a range
    "$work/tools/bin/pip" install -q twine auditwheel mypy uv pipx cyclonedx-python-lib[validation] >&2
}

# shellcheck disable=SC2034 # the steps that are sourced below use it
TRIXIE=bash-completion,fish,man-db,rpm,zsh

# inside ROOT COMMAND...: runs the command in ROOT as root, without a network, with the release under /release.
inside() {
    local root=$1
    shift
    bwrap --bind "$root" / --proc /proc --dev /dev --tmpfs /tmp --ro-bind "$OUT" /release --unshare-all --uid 0 --gid 0 \
        --clearenv --setenv PATH /usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin --setenv HOME /root --setenv LC_ALL C.UTF-8 --chdir / "$@"
}

all=
[ $# -gt 0 ] || { all=1; set -- binaries wheels packages images others; }
for step; do
    say "$step"
    # shellcheck source=/dev/null
    source "$PACKAGING/try/$step.sh"
done

[ -n "$all" ] || exit 0
say "packaging/TRIED.md"
python3 - "$rows" "$PACKAGING/TRIED.md" <<'END'
import re, sys
rows, page = open(sys.argv[1]).read(), open(sys.argv[2]).read()
head = "| channel | platform | command | printed |\n|---|---|---|---|\n"
page, found = re.subn(r"(?s)(<!-- tried -->\n).*?(<!-- /tried -->)", lambda m: m[1] + head + rows + m[2], page)
assert found == 1, "packaging/TRIED.md has no place for the table"
open(sys.argv[2], "w").write(page)
END
