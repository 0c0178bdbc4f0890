#!/bin/bash
# Tries `cudacompat doctor --healthcheck` in roots like NVIDIA containers: a healthy one, and others with one fault each.
# It needs bubblewrap, a C compiler and Go, but no GPU and no Docker. With strace it checks which devices are opened. As
# root it also removes a device with a control group (version 1). Run it from any directory. It exits 1 if a line or an
# exit code is not the expected one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
work=$(mktemp -d)
group=/sys/fs/cgroup/devices/cudacompat-try-$$
trap 'rm -rf "$work"; [[ ! -d $group ]] || rmdir "$group"' EXIT

CGO_CFLAGS="-O2 -Wno-deprecated-declarations" go build -ldflags=-extldflags=-Wl,-z,lazy -o "$work/cudacompat" ./cmd/cudacompat
CGO_ENABLED=0 go build -o "$work/cudacompat-static" ./cmd/cudacompat

# library NAME [MACRO...]: builds one state of the driver's libraries
library() { cc -shared -fPIC -w -o "$work/$1" "$here/driver.c" "${@:2}"; }
library sound
library two -DCOUNT=2
library mig -DMIG
library prohibited -DMODE=2

lib=/usr/lib/$(uname -m)-linux-gnu
site=$work/root/opt/venv/lib/python3.12/site-packages
mkdir -p "$work/root/etc" "$work/root/usr/bin" "$work/sys/module/nvidia" "$work/shm" "$site/torch" "$site/torch-2.6.0+cu124.dist-info" "$work/bare/usr/bin"
touch "$work/root/.dockerenv" "$work/bare/.dockerenv"
echo 550.54.15 > "$work/sys/module/nvidia/version"
echo 'PRETTY_NAME="Debian GNU/Linux 12"' > "$work/root/etc/os-release"
printf 'home = /usr/bin\nversion = 3.12.3\n' > "$work/root/opt/venv/pyvenv.cfg"
printf "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n" > "$site/torch/version.py"
printf 'Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0+cu124\n' > "$site/torch-2.6.0+cu124.dist-info/METADATA"
for file in $(ldd "$work/cudacompat" | grep -o '/[^ ]*'); do
	mkdir -p "$work/root$(dirname "$file")" && cp -L "$file" "$work/root$file"
done

# given: what the container is given; every test begins with all of it
given() {
	libraries="libcuda libnvidia-ptxjitcompiler libnvidia-ml" nodes="nvidia0 nvidiactl nvidia-uvm" nvml=sound shm=8000000000
	how=--dev-bind program=cudacompat base=$work/root arguments=()
	tracer=() variables=(--setenv NVIDIA_VISIBLE_DEVICES all --setenv NVIDIA_DRIVER_CAPABILITIES 'compute,utility')
}

# inside PROGRAM [ARGUMENT...]: starts a program in a container that was given these
inside() {
	local args=() name file
	rm -rf "$work/now" && cp -a "$base" "$work/now" && mkdir -p "$work/now$lib"
	for name in $libraries; do
		file=$lib/$name.so.550.54.15
		ln -s "$name.so.550.54.15" "$work/now$lib/$name.so.1"
		args+=(--ro-bind "$work/$([[ $name == libnvidia-ml ]] && echo "$nvml" || echo sound)" "$file")
	done
	for name in $nodes; do args+=("$how" /dev/null "/dev/$name"); done
	"${tracer[@]}" bwrap --bind "$work/now" / --proc /proc --dev /dev --size "$shm" --tmpfs /dev/shm --ro-bind "$work/sys" /sys \
		--ro-bind "$work/cudacompat" /usr/bin/cudacompat --ro-bind "$work/cudacompat-static" /usr/bin/cudacompat-static \
		--clearenv --setenv PATH /usr/bin --setenv VIRTUAL_ENV /opt/venv "${variables[@]}" "${args[@]}" "$@"
}

failed=0
# expect NAME CODE PATTERN: checks the output and exit code of --healthcheck there
expect() {
	local code=0 line
	line=$(inside "/usr/bin/$program" doctor --healthcheck "${arguments[@]}" 2>&1) || code=$?
	# shellcheck disable=SC2053 # the third is a pattern
	if [[ $code == "$2" && $line == $3 && ${#line} -le 4096 && $line != *$'\n'* ]]; then
		printf 'ok    %-28s %s  %s\n' "$1" "$code" "$line"
	else
		printf 'WRONG %-28s %s  %s\n      wanted %s  %s\n' "$1" "$code" "$line" "$2" "$3"
		failed=1
	fi
	given
}

given
expect healthy 0 'OK torch*'
program=cudacompat-static # without NVML the GPUs are read from /proc/driver/nvidia, which cannot be faked here
expect healthy-static 0 'UNKNOWN gpu-arch-missing*'
libraries="libcuda libnvidia-ml" # libcuda alone, mounted by hand: machine code needs no compiler
expect no-compiler 0 'OK torch*'
libraries=libnvidia-ml; variables+=(--setenv NVIDIA_DRIVER_CAPABILITIES utility)
expect container-driver-libs 1 'FAIL container-driver-libs*'
libraries="libcuda libnvidia-ptxjitcompiler"
expect no-nvml 0 'UNKNOWN gpu-arch-missing*'
nodes=''
expect device-nodes-missing 1 'FAIL device-nodes-missing*'
nodes="nvidia0 nvidiactl"
expect device-nodes-missing-uvm 1 'FAIL device-nodes-missing*'
how=--bind # such a mount refuses devices
expect device-permission 1 'FAIL device-permission*'
variables+=(--setenv NVIDIA_REQUIRE_CUDA 'CUDA>=12.6 brand=tesla,driver>=535,driver<536')
expect container-requirements 0 'OK *warning: container-requirements'
variables+=(--setenv CUDA_VISIBLE_DEVICES 7)
expect visible-devices 1 'FAIL visible-devices*'
nvml=two; variables+=(--setenv LOCAL_WORLD_SIZE 4)
expect world-size 1 'FAIL world-size*'
nvml=two; nodes+=" nvidia1"; shm=67108864
expect shm-too-small 0 'OK *warning: shm-too-small'
nvml=mig
expect mig-devices 0 'OK *warning: mig-devices'
nvml=prohibited
expect compute-mode 0 'OK *warning: compute-mode'
variables+=(--setenv CUDA_LAUNCH_BLOCKING 1)
expect launch-blocking 0 'OK torch*'
variables+=(--setenv CUDA_VISIBLE_DEVICES "")
expect hidden 0 'OK torch*'
variables+=(--setenv CUDA_VISIBLE_DEVICES ""); arguments=(--require gpu)
expect hidden-required 1 'FAIL required-missing*'
mkdir -p "$work/sys/bus/pci/devices/0000:4f:00.0"
echo 0x1d0f > "$work/sys/bus/pci/devices/0000:4f:00.0/vendor"; echo 0xefa2 > "$work/sys/bus/pci/devices/0000:4f:00.0/device"
nodes+=" infiniband/uverbs0"; variables+=(--setenv WORLD_SIZE 16 --setenv LOCAL_WORLD_SIZE 1)
expect efa-nccl-plugin 0 'OK *warning*efa-nccl-plugin*'
variables+=(--setenv WORLD_SIZE 16 --setenv LOCAL_WORLD_SIZE 1) # the host's adapter was not given to it
expect efa-not-given 0 'OK torch 2.6.0+cu124 works'
arguments=(--require efa)
expect efa-required 1 'FAIL required-missing*'
libraries='' nodes='' variables=()
expect sidecar 0 'UNKNOWN *'
libraries='' nodes='' variables=(); arguments=(--require gpu)
expect sidecar-required 1 'FAIL *'
base=$work/bare program=cudacompat-static libraries='' nodes='' variables=()
expect static-without-libc 0 'UNKNOWN *'
base=$work/bare program=cudacompat-static libraries='' nodes='' variables=(); arguments=(--require driver)
expect static-without-libc-required 1 'UNKNOWN *'

# Opening a GPU's device node would power the GPU up. The program never does. NVML may, but this one opens only /dev/nvidiactl.
if command -v strace > /dev/null; then
	tracer=(strace -qq -f -e 'trace=open,openat' -o "$work/opened")
	expect healthy-traced 0 'OK torch*'
	if ! grep -q '"/dev/nvidiactl"' "$work/opened" || grep '"/dev/nvidia[0-9]' "$work/opened"; then
		echo 'WRONG it opens the node of a GPU, or none at all'
		failed=1
	fi
else
	echo 'skip  healthy-traced               no strace'
fi

# Losing access: systemd does this to the container's control group at a daemon-reload. /dev/null is device 1:3.
if mkdir "$group" 2> /dev/null && echo 'c 1:3 rwm' > "$group/devices.deny"; then
	take() { echo $BASHPID > "$group/cgroup.procs"; given; expect device-access-lost 1 'FAIL device-access-lost*'; exit $failed; }
	(take) || failed=1
else
	echo 'skip  device-access-lost           no control groups of version 1 that this user may write'
fi
exit $failed
