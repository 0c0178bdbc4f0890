#!/bin/sh
# Fetches the libnvidia-ml.so.1 of every driver branch that Debian serves into DIR/VERSION/, for torture -nvml DIR.
# Needs apt and dpkg; the system's own lists of packages stay as they are.
#
#	[MIRROR=ADDRESS] tools/torture/debian.sh DIR	the mirror is the one that this machine uses
set -eu
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sed -n 1p)}
dir=$(mkdir -p "$1" && cd "$1" && pwd)
apt=$dir/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/packages"
for suite in bullseye bookworm bookworm-backports trixie sid experimental; do
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main contrib non-free"
done >"$apt/sources.list"
cat >"$apt/apt.conf" <<CONF
Dir::State "$apt/state"; Dir::Cache "$apt/cache"; Dir::Etc::SourceList "$apt/sources.list"; Dir::Etc::SourceParts "/dev/null";
Dir::State::status "/var/lib/dpkg/status"; Acquire::Languages "none"; APT::Sandbox::User "root";
CONF
export APT_CONFIG="$apt/apt.conf"
apt-get update -qq
cd "$apt/packages"
for name in $(apt-cache pkgnames libnvidia | grep -- '-ml1$'; echo libnvidia-ml1); do
	apt-cache madison "$name" | awk '{print $1 "=" $3}'
done | sort -u | while read -r package; do apt-get download -qq "$package" || echo "not served: $package" >&2; done
for package in *.deb; do
	version=$(dpkg-deb -f "$package" Version | sed 's/.*://; s/-.*//')
	mkdir -p "$dir/$version"
	dpkg-deb --fsys-tarfile "$package" | tar -xO --wildcards '*/libnvidia-ml.so.[1-9][0-9][0-9].*' >"$dir/$version/libnvidia-ml.so.1"
done
rm -rf "$apt"
ls "$dir"
