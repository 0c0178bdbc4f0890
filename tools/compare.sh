#!/bin/sh
# Compares what is read from real libraries with what others say of them: the frameworks' own interpreters, NVIDIA's
# cuobjdump, and the files that a process has mapped. By hand: it installs some 25 GB into DIR.
#
#	tools/compare.sh DIR
#
# Needs Go, uv, and apt with Debian's non-free for CUDA 11.8; without it that part is left out. Nothing is imported that
# was not installed into DIR, no GPU is needed.
set -eu
cd "$(dirname "$0")/.."
dir=$(mkdir -p "$1" && cd "$1" && pwd)
lazy=-ldflags=-extldflags=-Wl,-z,lazy # see the Makefile
failed=

say() { printf '\n== %s\n' "$*"; }

# compared runs one of the tests that compare, and goes on when it fails.
compared() { go test -count=1 "$lazy" -v -run "$@" 2>&1 | grep -v '^=== ' || true; }

# environment NAME PACKAGE…: what the frameworks that are installed there say themselves.
environment() {
	name=$1
	shift
	[ -e "$dir/$name.done" ] || { uv venv -q --clear -p 3.11 "$dir/$name" && uv pip install -q -p "$dir/$name/bin/python" "$@" && touch "$dir/$name.done"; }
	say "$*"
	CUDACOMPAT_ENV=$dir/$name; export CUDACOMPAT_ENV
	compared AgainstInterpreter ./probe | tee "$dir/$name.log"
	if grep -q '^FAIL' "$dir/$name.log"; then failed="$failed $name"; fi
}

# libraries TOOL FILE…: what a cuobjdump says.
libraries() {
	CUOBJDUMP=$1; export CUOBJDUMP
	shift
	FATBIN_LIBS=$(printf ':%s' "$@" | cut -c 2-); export FATBIN_LIBS
	say "cuobjdump $("$CUOBJDUMP" --version | sed -n 's/.*release //p')"
	compared Cuobjdump ./internal/fatbin | tee "$dir/cuobjdump.log"
	if grep -q '^FAIL' "$dir/cuobjdump.log"; then failed="$failed cuobjdump"; fi
}

environment torch-1.13 torch==1.13.1 'numpy<2' setuptools
environment torch-2.8 torch==2.8.0 numpy bitsandbytes==0.47.0
environment torch torch numpy bitsandbytes
environment tensorflow 'tensorflow[and-cuda]==2.20.0'
environment jax12 'jax[cuda12]==0.7.2'
environment jax13 'jax[cuda13]'

site() { echo "$dir/$1"/lib/python3.11/site-packages; }
[ -e "$dir/tool" ] || uv pip install -q --target "$dir/tool" nvidia-cuda-cuobjdump
libraries "$(find "$dir/tool" -name cuobjdump -type f)" \
	"$(site torch-2.8)/torch/lib/libtorch_cuda.so" "$(site torch-2.8)/bitsandbytes/libbitsandbytes_cuda128.so" \
	"$(site torch)/torch/lib/libtorch_cuda.so" "$(site tensorflow)/tensorflow/libtensorflow_cc.so.2" \
	"$(site jax12)/jax_plugins/xla_cuda12/xla_cuda_plugin.so" "$(site jax13)/jax_plugins/xla_cuda13/xla_cuda_plugin.so"

mkdir -p "$dir/debian"
if (cd "$dir/debian" && { [ -e done ] || { apt-get -q download libnppial11 libnppif11 libcublas11 libcublaslt11 nvidia-cuda-toolkit &&
	for deb in *.deb; do dpkg-deb -x "$deb" .; done && touch done; }; }); then
	libraries "$dir/debian/usr/bin/cuobjdump" "$dir"/debian/usr/lib/*-linux-gnu/lib*.so.11.*
else
	say "no CUDA 11.8 of Debian here: is non-free in apt's sources?"
fi

say "${failed:+different:}${failed:-all the same}"
[ -z "$failed" ]
