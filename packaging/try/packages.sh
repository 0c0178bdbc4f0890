# deb and rpm: checked, installed, run, upgraded, removed; the timer stays off, nothing of NVIDIA's is touched.
: "${bullseye:=$(debian bullseye man-db)}" "${trixie:=$(debian trixie "$TRIXIE")}"
deb=cudacompat_$VERSION-1_amd64.deb rpm=cudacompat-$VERSION-1.x86_64.rpm
lintian --fail-on error,warning "$OUT/packages/$deb" 2>&1 | { grep -v 'root privileges' || echo "no tags"; } | row "deb" "lintian" "lintian --fail-on error,warning"
rpmlint -c "$PACKAGING/linux/rpmlint.toml" "$OUT/packages/$rpm" | row "rpm" "rpmlint" "rpmlint -c packaging/linux/rpmlint.toml"

# The same release as a later version, to upgrade to.
newer=$work/newer
mkdir -p "$newer"
cp -R "$OUT/bin" "$newer"
OUT=$newer VERSION=99.0.0 "$PACKAGING/packages.sh" >/dev/null 2>&1

# later ROOT COMMAND...: as inside, with the later version under /newer.
later() { local root=$1; shift; mkdir -p "$root/newer"; cp "$newer"/packages/*{amd64.deb,x86_64.rpm} "$root/newer"; inside "$root" "$@"; }

# used ROOT: as after some days with the timer enabled.
used() {
    inside "$1" sh -c 'mkdir -p /var/lib/cudacompat /etc/systemd/system/timers.target.wants
        echo {} >/var/lib/cudacompat/report.json
        ln -sf /usr/lib/systemd/system/cudacompat.timer /etc/systemd/system/timers.target.wants/'
}

for root in "$bullseye" "$trixie"; do
    name="Debian $(cut -d . -f 1 "$root/etc/debian_version")"
    inside "$root" dpkg -i "/release/packages/$deb" 2>&1 | grep cudacompat | row "deb" "$name" "dpkg -i $deb"
    inside "$root" cudacompat check example:broken -o line --fail-on never | row "deb" "$name" "cudacompat check example:broken -o line"
    inside "$root" man -P cat cudacompat | sed -n 1p | row "deb" "$name" "man cudacompat"
    [ -z "$(inside "$root" sh -c 'find /etc/systemd -name "cudacompat*"')" ] || die "$name: the timer is enabled"
    later "$root" sh -c "echo '# mine' >>/etc/cudacompat/.cudacompat.yaml; dpkg -i --force-confold /newer/*.deb" 2>&1 | grep cudacompat | row "deb" "$name" "dpkg -i of a later version, over a changed configuration"
    inside "$root" sh -c 'tail -n 1 /etc/cudacompat/.cudacompat.yaml' | row "deb" "$name" "tail -n 1 /etc/cudacompat/.cudacompat.yaml"
    used "$root"
    inside "$root" dpkg --purge cudacompat 2>&1 | grep cudacompat | row "deb" "$name" "dpkg --purge cudacompat"
    [ -z "$(inside "$root" sh -c 'find / -xdev -name "*cudacompat*" ! -path "/newer/*" ! -path "/proc/*" ! -path "/release/*" 2>/dev/null')" ] || die "$name: files are left"
done
dpkg-deb -c "$OUT/packages/$deb" | { ! grep -E 'cuda-compat|/usr/local/cuda'; } || die "files of NVIDIA's package"

# RPM's own tools on a database of their own: that no distribution of RPM's was tried, the table says.
inside "$trixie" rpm -i --nodeps "/release/packages/$rpm"
inside "$trixie" rpm -q cudacompat | row "rpm" "rpm 4.20 on Debian 13" "rpm -i --nodeps $rpm && rpm -q cudacompat"
inside "$trixie" cudacompat version | row "rpm" "rpm 4.20 on Debian 13" "cudacompat version"
later "$trixie" sh -c 'rpm -U --nodeps /newer/*.rpm && rpm -q cudacompat' | row "rpm" "rpm 4.20 on Debian 13" "rpm -U --nodeps, a later version"
used "$trixie"
inside "$trixie" sh -c 'rpm -e cudacompat && ! find /etc /usr /var -name "*cudacompat*" | grep . && echo removed' | row "rpm" "rpm 4.20 on Debian 13" "rpm -e cudacompat"
