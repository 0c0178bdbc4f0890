#!/usr/bin/env bash
# Builds the deb and the rpm of each architecture from $OUT/bin into $OUT/packages.
source "$(dirname "$0")/lib.sh"
# The owner's name and address, once they are known.
export MAINTAINER=${MAINTAINER:-The authors of cudacompat <cudacompat@example.org>}
export HOMEPAGE=${HOMEPAGE:-https://example.org/cudacompat}
MTIME=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
export MTIME
nfpm=$(tool "$NFPM")
STAGE=$(mktemp -d)
trap 'rm -rf "$STAGE"' EXIT
export STAGE
umask 022
mkdir -p "$OUT/packages" "$STAGE/man"

say "man pages, completions, documents"
(cd "$TOP" && go test -ldflags=-extldflags=-Wl,-z,lazy ./cmd/cudacompat -run '^TestManPages$' -count=1 -manpages "$STAGE/man" >&2)
gzip -9n "$STAGE"/man/*
go_run() { (cd "$TOP" && CGO_ENABLED=0 go run ./cmd/cudacompat "$@"); }
go_run completion bash >"$STAGE/cudacompat.bash"
go_run completion fish >"$STAGE/cudacompat.fish"
go_run completion zsh >"$STAGE/_cudacompat"
gzip -9nc "$TOP/NOTICE" >"$STAGE/NOTICE.gz"
gzip -9nc >"$STAGE/changelog.Debian.gz" <<END
cudacompat ($VERSION-1) stable; urgency=medium

  * See CHANGELOG.md of the sources.

 -- $MAINTAINER  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
cat >"$STAGE/changelog.yaml" <<END
- semver: $VERSION-1
  date: $MTIME
  packager: $MAINTAINER
  changes:
    - note: See CHANGELOG.md of the sources.
END

# fields KIND: prints the fields of only one of the two formats.
fields() {
    DOC='' LICENSE_FIELD='' CHANGELOG_FIELD=''
    if [ "$1" = rpm ]; then
        DOC=doc LICENSE_FIELD='license: Apache-2.0' CHANGELOG_FIELD="changelog: $STAGE/changelog.yaml"
    fi
    # One by one, because nfpm accepts no pattern for documents.
    MAN_PAGES=
    for page in "$STAGE"/man/*; do
        # shellcheck disable=SC2089 # the quotes are YAML's
        MAN_PAGES+="  - {src: $page, dst: /usr/share/man/man1/${page##*/}, type: '$DOC'}"$'\n'
    done
    # shellcheck disable=SC2090 # the quotes are YAML's
    export DOC LICENSE_FIELD CHANGELOG_FIELD MAN_PAGES
}

for ARCH in amd64 arm64; do
    export ARCH
    cp "$OUT/bin/cudacompat-linux-$ARCH" "$STAGE/cudacompat"
    for kind in deb rpm; do
        say "$kind for $ARCH"
        fields "$kind"
        python3 -c 'import os, string, sys; print(string.Template(sys.stdin.read()).substitute(os.environ))' \
            <"$PACKAGING/linux/nfpm.yaml" >"$STAGE/nfpm.yaml"
        (cd "$TOP" && "$nfpm" package -f "$STAGE/nfpm.yaml" -p "$kind" -t "$OUT/packages/") >&2
    done
done
