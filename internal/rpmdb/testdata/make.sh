#!/usr/bin/env bash
# Makes the databases of this directory anew, with rpm itself (4.16 or later, that writes SQLite), with libdb by way of
# perl's DB_File, and, as no Debian rpm writes ndb, with python by rpm's lib/backend/ndb/rpmpkg.c:
#
#     apt-get install rpm perl python3 xz-utils; internal/rpmdb/testdata/make.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# build NAME [EPOCH:]VERSION-RELEASE [FILES]: a package that owns so many files.
build() {
    local epoch="" version=${2%-*} release=${2##*-}
    case $version in *:*) epoch="Epoch: ${version%%:*}" version=${version#*:} ;; esac
    {
        printf 'Name: %s\nVersion: %s\nRelease: %s\n%s\nSummary: x\nLicense: x\nBuildArch: noarch\n%%description\nx\n%%install\n' "$1" "$version" "$release" "$epoch"
        printf 'mkdir -p %%{buildroot}/opt/%s; cd %%{buildroot}/opt/%s; for i in $(seq %s); do : > file$i; done\n' "$1" "$1" "${3:-0}"
        printf '%%files\n/opt/%s\n' "$1"
    } > p.spec
    SOURCE_DATE_EPOCH=1763700000 rpmbuild -bb --quiet --define "_topdir $work" --define "_buildhost localhost" --define "use_source_date_epoch_as_buildtime 1" p.spec
}

build bash 5.2.15-1.amzn2023.0.2 3
build glibc 2.34-196.amzn2023.0.1 1000 # a header of many pages
for n in $(seq 12); do build "filler$n" 1-1; done
build kmod-nvidia-open-dkms 3:580.95.05-1.amzn2023
build nvidia-driver-cuda 3:580.95.05-1.amzn2023
build nvidia-driver-cuda-libs 3:580.95.05-1.amzn2023
build nvidia-fabricmanager 580.95.05-1
build libnccl 2.27.7-1+cuda13.0

rpm="rpm --root $work/root --dbpath /db --justdb --nodeps --noscripts --nosignature"
mkdir -p root
$rpm -i RPMS/noarch/*.rpm

# The log stays, and with it what is installed and removed last, as long as another program reads an older state.
build libcudnn9-cuda-13 9.13.0.50-1
python3 - "$work/root/db/rpmdb.sqlite" "$rpm" "$here" <<'PY'
import lzma, sqlite3, struct, subprocess, sys
path, rpm, here = sys.argv[1:]

def save(name, data):
    with open(f"{here}/{name}.xz", "wb") as f:
        f.write(lzma.compress(data, preset=9))

reader = sqlite3.connect(path, isolation_level=None)
headers = reader.execute("select hnum, blob from Packages").fetchall()
reader.execute("begin")
reader.execute("select count(*) from Packages").fetchall()
subprocess.check_call(rpm.split() + ["-e", "filler3"])
subprocess.check_call(rpm + " -i RPMS/noarch/libcudnn9*.rpm", shell=True)
save("rpmdb.sqlite", open(path, "rb").read())
save("rpmdb.sqlite-wal", open(path + "-wal", "rb").read())

slots, blobs, at = b"", b"", 4096 // 16
for n, header in headers:
    blob = b"BlbS" + struct.pack("<III", n, 1, len(header)) + header
    tail = struct.pack("<II", 0, len(header)) + b"BlbE"
    blob += b"\0" * (-(len(blob) + len(tail)) % 16) + tail
    slots += b"Slot" + struct.pack("<III", n, at, len(blob) // 16)
    blobs, at = blobs + blob, at + len(blob) // 16
slots += (b"Slot" + b"\0" * 12) * (4096 // 16 - 2 - len(headers))
save("Packages.db", b"RpmP" + struct.pack("<III", 0, 1, 1) + b"\0" * 16 + slots + blobs)

with open("dump", "wb") as f:
    for n, header in headers:
        f.write(struct.pack("<II", n, len(header)) + header)
PY
perl -MDB_File -MFcntl -e '
    tie my %table, "DB_File", "Packages", O_CREAT | O_RDWR, 0644, $DB_HASH or die;
    open my $dump, "<:raw", "dump" or die;
    $table{pack "L", 0} = pack "L", 99;
    while (read $dump, my $head, 8) {
        my ($n, $length) = unpack "LL", $head;
        read $dump, $table{pack "L", $n}, $length;
    }'
xz -9 < Packages > "$here/Packages.xz"
ls -l "$here"
