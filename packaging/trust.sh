#!/usr/bin/env bash
# Writes the bills of materials, provenance and checksums, with which a stranger can check the artefacts in $OUT. The forge
# attests each artefact by the list of checksums (.github/workflows/release.yml), so there is no key to keep or to lose.
source "$(dirname "$0")/lib.sh"
mkdir -p "$OUT/sbom"
(cd "$TOP" && CGO_ENABLED=0 go build -o "$CACHE/release" ./tools/release)

say "tables, bills of materials"
rm -f "$OUT"/cudacompat-tables-*.zip
"$CACHE/release" bundle >"$OUT/cudacompat-tables-$VERSION.zip" # the tables that the binaries embed
for file in "$OUT"/bin/*; do
    "$CACHE/release" sbom "$file" >"$OUT/sbom/${file##*/}.cdx.json"
done

say "provenance, checksums"
cd "$OUT"
rm -f provenance.intoto.json SHA256SUMS
find . -type f -printf '%P\n' | LC_ALL=C sort >"$CACHE/artefacts"
mapfile -t artefacts <"$CACHE/artefacts"
cat "$CACHE"/packages-* | "$CACHE/release" provenance "$COMMIT" "${artefacts[@]}" >provenance.intoto.json
echo provenance.intoto.json >>"$CACHE/artefacts"

# A release is downloaded as files in one directory, without the directories of the build.
twice=$(sed 's,.*/,,' "$CACHE/artefacts" | sort | uniq -d)
[ -z "$twice" ] || die "two artefacts have one name: $twice"
xargs sha256sum <"$CACHE/artefacts" | sed 's,  .*/,  ,' | LC_ALL=C sort -k 2 >SHA256SUMS
