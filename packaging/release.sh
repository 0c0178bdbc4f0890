#!/usr/bin/env bash
# Builds every artefact of a release in $OUT (dist/), from a checkout or an archive of it. It publishes nothing.
#
#	VERSION=0.1.0 packaging/release.sh
#
# The same sources give the same bytes in any directory. It needs Debian or a derivative, with mmdebstrap, bubblewrap,
# binutils and Go.
source "$(dirname "$0")/lib.sh"
[ "$VERSION" != 0.0.0 ] || die "which version? VERSION=0.1.0 make release"
mkdir -p "$OUT"
rm -rf "${OUT:?}"/{bin,wheels,packages,image,sbom} # perhaps of another version

"$PACKAGING/binaries.sh"
"$PACKAGING/wheels.sh"
"$PACKAGING/packages.sh"
"$PACKAGING/image.sh"
if [ -e "$TOP/.git" ]; then
    say "sources"
    git -C "$TOP" archive --format=tar --prefix="cudacompat-$VERSION/" HEAD | gzip -9n >"$OUT/cudacompat-$VERSION.tar.gz"
fi
"$PACKAGING/trust.sh"
say "done: $OUT"
