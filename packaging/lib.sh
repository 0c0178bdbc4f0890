# Functions that the release's steps source. The caller sets VERSION and OUT.
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PACKAGING=$TOP/packaging
OUT=${OUT:-$TOP/dist}
CACHE=${CUDACOMPAT_RELEASE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cudacompat-release}

# The tools, at fixed versions. The product depends on none of them.
NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0
CRANE=github.com/google/go-containerregistry/cmd/crane@v0.22.1

# Debian's mirror for the roots: this machine's own, or without apt, mmdebstrap's default.
: "${MIRROR:=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -v security | sed -n 1p || true)}"

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'release: %s\n' "$*" >&2; exit 1; }
need() { command -v "$1" >/dev/null || die "$1 is missing: $2"; }

# A git checkout knows its version and time, and an archive by git has them in stamp.txt. Otherwise the caller gives them.
stamp() { grep -v '^\$Format' "$TOP/cmd/cudacompat/stamp.txt" | cut -d ' ' -f "$1"; }
if [ -e "$TOP/.git" ]; then
    : "${SOURCE_DATE_EPOCH:=$(git -C "$TOP" log -1 --format=%ct)}"
    : "${COMMIT:=$(git -C "$TOP" rev-parse HEAD)}"
else
    : "${SOURCE_DATE_EPOCH:=$(stamp 2)}" "${COMMIT:=$(stamp 1)}"
fi
: "${SOURCE_DATE_EPOCH:=0}" "${COMMIT:=}"
VERSION=${VERSION:-0.0.0}
VERSION=${VERSION#v}
export SOURCE_DATE_EPOCH VERSION OUT GOFLAGS="-trimpath -buildvcs=false"
# A fixed compiler, because the bytes depend on it, whichever go is installed.
GOTOOLCHAIN=$(sed -n 's/^toolchain //p' "$TOP/go.mod")
export GOTOOLCHAIN CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations"

# tool MODULE@VERSION: builds a Go program once, keeps it, and prints its path.
tool() {
    local name=${1%@*} bin
    name=$(basename "$name")
    bin=$CACHE/bin/${1##*@}
    [ -x "$bin/$name" ] || GOBIN=$bin GOFLAGS=-trimpath go install "$1"
    printf '%s\n' "$bin/$name"
}
