#!/bin/sh
# usage: tools/lab/buildkit/compare.sh   compares our reader of Dockerfiles with BuildKit's own parser, on a seed
# The parser is built in a module of its own, outside this one: it would bring 2 MB of protobuf.
set -eu
cd "$(dirname "$0")/../../.."
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp tools/lab/buildkit/main.go.txt "$build/main.go"
(cd "$build" && go mod init buildkit &&
    go get github.com/moby/buildkit/frontend/dockerfile/parser@v0.34.2 && go build -o parse .) >"$build/log" 2>&1 || { cat "$build/log"; exit 1; }
CUDACOMPAT_BUILDKIT=$build/parse go test -count=1 -v -run TestBuildKit ./probe/internal/input
