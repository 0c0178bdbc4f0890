#!/usr/bin/env bash
# Writes what lets a stranger check the artefacts in $OUT: bills of materials, provenance, checksums, and their signature.
#
#	SIGNING_KEY=FILE packaging/trust.sh     FILE is a private SSH key (ssh-keygen -t ed25519)
source "$(dirname "$0")/lib.sh"
mkdir -p "$OUT/sbom"
(cd "$TOP" && CGO_ENABLED=0 go build -o "$CACHE/release" ./tools/release)

say "tables, bills of materials"
rm -f "$OUT"/cudacompat-tables-*.zip
"$CACHE/release" bundle >"$OUT/cudacompat-tables-$VERSION.zip" # what the binaries carry
for file in "$OUT"/bin/*; do
    "$CACHE/release" sbom "$file" >"$OUT/sbom/${file##*/}.cdx.json"
done

say "provenance, checksums"
cd "$OUT"
rm -f provenance.intoto.json SHA256SUMS SHA256SUMS.sig
find . -type f -printf '%P\n' | LC_ALL=C sort >"$CACHE/artefacts"
xargs "$CACHE/release" provenance "$COMMIT" <"$CACHE/artefacts" >provenance.intoto.json
{ cat "$CACHE/artefacts"; echo provenance.intoto.json; } | LC_ALL=C sort | xargs sha256sum >SHA256SUMS

if [ -n "${SIGNING_KEY:-}" ]; then
    ssh-keygen -q -Y sign -f "$SIGNING_KEY" -n cudacompat SHA256SUMS
else
    say "not signed: SIGNING_KEY names no key"
fi
