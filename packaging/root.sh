#!/usr/bin/env bash
# Creates the root in which the binaries with NVML are built, keeps it for the next release, and prints its path.
#
# The root is Debian 11 with its cross compiler. Binaries linked there need GLIBC_2.3.3 on x86-64, and 2.17 on arm64, the
# port's first version. A build on a newer system binds __libc_start_main and pthread_* at GLIBC_2.34, which Amazon Linux 2,
# Ubuntu 20.04 and RHEL 8 lack.
source "$(dirname "$0")/lib.sh"
ROOT=$CACHE/bullseye

if [ ! -e "$ROOT/.complete" ]; then
    need mmdebstrap "apt-get install mmdebstrap"
    say "a Debian 11 root with compilers, in $ROOT"
    rm -rf --one-file-system "$ROOT" # a run that was killed may have left its mounts
    mkdir -p "$CACHE"
    mmdebstrap --variant=minbase --include=gcc,libc6-dev,gcc-aarch64-linux-gnu,libc6-dev-arm64-cross \
        bullseye "$ROOT" ${MIRROR:+"$MIRROR"} >&2
    touch "$ROOT/.complete"
fi
# The root's packages determine the binaries, so trust.sh records them in the provenance.
dpkg-query --admindir="$ROOT/var/lib/dpkg" --show --showformat='bullseye ${Package} ${Version} ${Architecture}\n' >"$CACHE/packages-bullseye"
printf '%s\n' "$ROOT"
