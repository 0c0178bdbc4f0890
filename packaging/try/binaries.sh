# Tries the binaries on systems with old and new libcs, on another architecture, without a libc, and on Windows.
: "${bullseye:=$(debian bullseye man-db)}" "${trixie:=$(debian trixie "$TRIXIE")}"
inside "$bullseye" /release/bin/cudacompat-linux-amd64 version | row "binary" "Debian 11, glibc 2.31" "cudacompat-linux-amd64 version"
inside "$trixie" /release/bin/cudacompat-linux-amd64 version | row "binary" "Debian 13, glibc 2.41" "cudacompat-linux-amd64 version"
"$PACKAGING/artefact.sh" "$OUT/bin/cudacompat-linux-amd64" | row "binary" "any glibc from 2.3.3 on" "packaging/artefact.sh cudacompat-linux-amd64"
"$PACKAGING/artefact.sh" "$OUT/bin/cudacompat-linux-arm64" | row "binary" "arm64, any glibc from 2.17 on" "packaging/artefact.sh cudacompat-linux-arm64"

mkdir "$work/empty"
inside "$work/empty" /release/bin/cudacompat-linux-amd64-static version | row "static binary" "an empty root, no libc" "cudacompat-linux-amd64-static version"
inside "$work/empty" /release/bin/cudacompat-linux-amd64-static check example:broken -o line --fail-on never |
    row "static binary" "an empty root, no libc" "cudacompat-linux-amd64-static check example:broken -o line"

# arm64: the root has its own libc, the libc of the build root's cross compiler, and a driver library of a few lines.
# (QEMU_LD_PREFIX would be wrong here: the program would see the prefix as "/".)
need qemu-aarch64-static "apt-get install qemu-user-static"
ROOT=$("$PACKAGING/root.sh")
both=$(debian bullseye man-db)
cp -R "$ROOT/usr/aarch64-linux-gnu/lib" "$both/lib/aarch64-linux-gnu"
ln -s aarch64-linux-gnu/ld-linux-aarch64.so.1 "$both/lib"
mkdir -p "$work/driver"
cp "$TOP/examples/container/driver.c" "$work/driver"
bwrap --bind "$ROOT" / --dev /dev --bind "$work/driver" /tmp --chdir /tmp \
    aarch64-linux-gnu-gcc -shared -fPIC -o libnvidia-ml.so.1 -Wl,-soname,libnvidia-ml.so.1 driver.c
# The program executes itself as the child that queries NVML, so the kernel must know qemu, in its own user namespace.
cat >"$work/arm.sh" <<'END'
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf ':qemu-aarch64:M::%s:%s:/usr/bin/qemu-aarch64-static:F' "$magic" "$mask" >/proc/sys/fs/binfmt_misc/register
exec bwrap "$@"
END
arm() {
    unshare -Urm sh "$work/arm.sh" --bind "$both" / --proc /proc --dev /dev --dev-bind /dev/null /dev/nvidiactl --tmpfs /tmp \
        --ro-bind "$OUT" /release --ro-bind "$work/driver" /driver --unshare-pid --unshare-net --chdir / \
        --clearenv --setenv PATH /usr/bin:/bin --setenv HOME /root --setenv LD_LIBRARY_PATH /driver "$@"
}
arm /release/bin/cudacompat-linux-arm64 version | row "binary" "arm64 under qemu, glibc 2.31" "cudacompat-linux-arm64 version"
arm /release/bin/cudacompat-linux-arm64 probe >"$work/arm.json"
python3 -c 'import json, sys; f = json.load(sys.stdin); print(f["driver"]["version"], f["driver"]["from"], f["gpus"][0]["name"])' \
    <"$work/arm.json" | row "binary" "arm64 under qemu, a driver library for tests" "cudacompat-linux-arm64 probe"
arm /release/bin/cudacompat-linux-arm64-static check example:broken -o line --fail-on never |
    row "static binary" "arm64 under qemu" "cudacompat-linux-arm64-static check example:broken -o line"

# Wine from 9 on: Go asks for bcryptprimitives.dll, which Debian 12's lacks.
[ -e "$CACHE/wine/.complete" ] || {
    mmdebstrap --variant=minbase --include=wine,wine64 trixie "$CACHE/wine" ${MIRROR:+"$MIRROR"} >&2
    touch "$CACHE/wine/.complete"
}
windows() {
    bwrap --bind "$CACHE/wine" / --proc /proc --dev /dev --bind "$work" /tmp --ro-bind "$OUT" /release --unshare-net --clearenv \
        --setenv PATH /usr/bin:/bin --setenv HOME /tmp/wine --setenv WINEDEBUG -all --setenv WINEDLLOVERRIDES mscoree,mshtml= \
        wine /release/bin/cudacompat-windows-amd64.exe "$@" 2>"$work/wine.log" | tr -d '\r'
}
mkdir -p "$work/wine"
windows version | row "binary" "Windows (wine 10)" "cudacompat-windows-amd64.exe version"
windows check example:broken -o line --fail-on never | row "binary" "Windows (wine 10)" "cudacompat-windows-amd64.exe check example:broken -o line"
windows pins --driver 550.90.07 --gpu L4 --choice keep-driver -o requirements | row "binary" "Windows (wine 10)" "cudacompat-windows-amd64.exe pins --driver 550.90.07 --gpu L4 -o requirements"
windows explain driver-too-old | sed -n 1p | row "binary" "Windows (wine 10)" "cudacompat-windows-amd64.exe explain driver-too-old"
windows matrix torch release=2.6.0 | row "binary" "Windows (wine 10)" "cudacompat-windows-amd64.exe matrix torch release=2.6.0"
file -b "$OUT/bin/cudacompat-darwin-arm64" | row "binary" "macOS, compiled, not run" "file cudacompat-darwin-arm64"
