#!/usr/bin/env bash
# Builds every binary into $OUT/bin: linux with NVML (in the old root), linux without libc, Windows and macOS.
source "$(dirname "$0")/lib.sh"
need go "see go.mod for the version"
need bwrap "apt-get install bubblewrap"
ROOT=$("$PACKAGING/root.sh")
PACKAGE=./cmd/cudacompat
# No build id, because it is a hash of the inputs, including paths. For lazy binding and PIE, see the Makefile.
LINK="-s -w -buildid= -X main.version=$VERSION"
mkdir -p "$OUT/bin"

# static OS ARCH FILE: no C compiler, no libc, no NVML.
static() {
    say "$1/$2 without NVML: $3"
    (cd "$TOP" && CGO_ENABLED=0 GOOS=$1 GOARCH=$2 go build -ldflags="$LINK" -o "$OUT/bin/$3" $PACKAGE)
}

# nvml ARCH COMPILER FILE: linked against the old root's libc.
nvml() {
    say "linux/$1 with NVML: $3"
    local goroot modules build
    goroot=$(cd "$TOP" && go env GOROOT) modules=$(go env GOMODCACHE) build=$(go env GOCACHE)
    (cd "$TOP" && go mod download)
    bwrap --bind "$ROOT" / --proc /proc --dev /dev --tmpfs /tmp --tmpfs /root --unshare-net \
        --ro-bind "$goroot" /usr/local/go --ro-bind "$modules" /modules --bind "$build" /build \
        --ro-bind "$TOP" /source --bind "$OUT/bin" /out --chdir /source \
        --clearenv --setenv PATH /usr/local/go/bin:/usr/bin:/bin --setenv HOME /tmp \
        --setenv GOFLAGS "$GOFLAGS" --setenv CGO_CFLAGS "$CGO_CFLAGS" --setenv GOPROXY off --setenv GOTOOLCHAIN local \
        --setenv GOMODCACHE /modules --setenv GOCACHE /build \
        --setenv CGO_ENABLED 1 --setenv GOARCH "$1" --setenv CC "$2" \
        go build -buildmode=pie -ldflags="$LINK -extldflags=-Wl,-z,lazy,--build-id=none" -o "/out/$3" $PACKAGE
}

nvml amd64 gcc cudacompat-linux-amd64
nvml arm64 aarch64-linux-gnu-gcc cudacompat-linux-arm64
static linux amd64 cudacompat-linux-amd64-static
static linux arm64 cudacompat-linux-arm64-static
static windows amd64 cudacompat-windows-amd64.exe
static darwin amd64 cudacompat-darwin-amd64
static darwin arm64 cudacompat-darwin-arm64

"$PACKAGING/artefact.sh" "$OUT"/bin/cudacompat-*
