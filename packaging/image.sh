#!/usr/bin/env bash
# Builds the OCI images from $OUT/bin into $OUT/image, for amd64 and arm64, without a daemon. It assembles the layers in a
# temporary in-memory registry on 127.0.0.1 and pulls them from there.
#
#	cudacompat:VERSION        nothing but the static program, /cudacompat: for COPY --from= and --root
#	cudacompat:VERSION-glibc  the program with NVML on Debian's libc, which NVIDIA's container toolkit puts the driver into
source "$(dirname "$0")/lib.sh"
need mmdebstrap "apt-get install mmdebstrap"
crane=$(tool "$CRANE")
work=$(mktemp -d)
registry=127.0.0.1:${PORT:-5055}
"$crane" registry serve --address "$registry" >"$work/registry.log" 2>&1 &
trap 'kill $!; rm -rf "$work"' EXIT
for _ in $(seq 50); do curl -sf "http://$registry/v2/" >/dev/null && break; sleep 0.1; done

# layer FILE BINARY: writes a reproducible tar with the program as /cudacompat.
layer() {
    install -D -m 0755 "$2" "$work/root/cudacompat"
    tar -C "$work/root" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf "$1" cudacompat
}

# libc ARCH: writes a tar with Debian's libc and no programs, and keeps it for the next release.
libc() {
    local tar=$CACHE/libc-bookworm-$1.tar
    [ -e "$tar" ] || mmdebstrap --variant=extract --architectures="$1" --include=base-files,libc6,libc-bin \
        --customize-hook='rm -rf "$1"/usr/share "$1"/var/lib/apt "$1"/var/cache "$1"/etc/apt "$1"/dev/*' \
        bookworm "$tar" ${MIRROR:+"$MIRROR"} >&2
    # For the provenance, as packaging/root.sh does for the other root.
    tar -xOf "$tar" --wildcards './var/lib/dpkg/status' | awk -F ': ' \
        '$1 == "Package" { p = $2 } $1 == "Version" { v = $2 } $1 == "Architecture" { a = $2 }
         $0 == "" && p { print "bookworm", p, v, a; p = "" }
         END { if (p) print "bookworm", p, v, a }' >"$CACHE/packages-bookworm-$1"
    printf '%s\n' "$tar"
}

# image TAG ARCH LAYER...: pushes an image of these layers with its labels.
image() {
    local tag=$registry/cudacompat:$1-$2 arch=$2 file layers=()
    shift 2
    for file; do layers+=(-f "$file"); done
    "$crane" append --oci-empty-base "${layers[@]}" -t "$tag" >/dev/null
    "$crane" mutate "$tag" -t "$tag" --set-platform "linux/$arch" --entrypoint /cudacompat --cmd doctor \
        --env PATH=/:/usr/bin --env NVIDIA_VISIBLE_DEVICES=all --env NVIDIA_DRIVER_CAPABILITIES=compute,utility \
        --label org.opencontainers.image.title=cudacompat \
        --label org.opencontainers.image.description="Whether the CUDA stack will work, and what to install if not" \
        --label org.opencontainers.image.version="$VERSION" \
        --label org.opencontainers.image.revision="$COMMIT" \
        --label org.opencontainers.image.created="$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" \
        --label org.opencontainers.image.licenses=Apache-2.0 >/dev/null
    printf '%s\n' "$tag"
}

# both TAG: gives both architectures one name and writes them to $OUT/image as an OCI layout in a tar.
both() {
    local name=$registry/cudacompat:$1
    "$crane" index append -m "$name-amd64" -m "$name-arm64" -t "$name" >/dev/null 2>&1
    "$crane" validate --remote "$name" >&2
    rm -rf "$work/layout"
    "$crane" pull --format=oci "$name" "$work/layout"
    tar -C "$work/layout" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX -cf "$OUT/image/cudacompat-$1.oci.tar" .
}

mkdir -p "$OUT/image"
for arch in amd64 arm64; do
    say "images for $arch"
    layer "$work/static.tar" "$OUT/bin/cudacompat-linux-$arch-static"
    image "$VERSION" "$arch" "$work/static.tar" >&2
    layer "$work/nvml.tar" "$OUT/bin/cudacompat-linux-$arch"
    image "$VERSION-glibc" "$arch" "$(libc "$arch")" "$work/nvml.tar" >&2
done
both "$VERSION"
both "$VERSION-glibc"
