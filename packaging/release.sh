#!/usr/bin/env bash
# Makes every artefact of a release in $OUT (dist/), from a checkout or from an archive of it; nothing is published.
#
#	VERSION=0.1.0 packaging/release.sh
#
# The same sources give the same bytes, wherever they lie. Needs Debian or a relative of it with mmdebstrap, bubblewrap,
# binutils, and Go.
source "$(dirname "$0")/lib.sh"
[ "$VERSION" != 0.0.0 ] || die "which version? VERSION=0.1.0 make release"
mkdir -p "$OUT"
rm -rf "${OUT:?}"/{bin,wheels,packages,image,sbom} # of another version, perhaps

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
