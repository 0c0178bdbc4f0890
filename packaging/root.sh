#!/usr/bin/env bash
# Makes the root in which the binaries with NVML are built, and prints its path; it is kept for the next release.
#
# Debian 11, with its cross compiler: what is linked there needs GLIBC_2.3.3 on x86-64 and 2.17, the port's first, on
# arm64, since everything the program calls is that old. A build on a newer system binds __libc_start_main and pthread_* at
# GLIBC_2.34, which Amazon Linux 2, Ubuntu 20.04 and RHEL 8 do not have.
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
# What is in it is part of where the binaries come from: trust.sh names it in the provenance.
dpkg-query --admindir="$ROOT/var/lib/dpkg" --show --showformat='bullseye ${Package} ${Version} ${Architecture}\n' >"$CACHE/packages-bullseye"
printf '%s\n' "$ROOT"
