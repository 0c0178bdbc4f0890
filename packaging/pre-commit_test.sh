#!/usr/bin/env bash
# Runs the pre-commit hook as pre-commit does, with the words of its entry, its args, and then file names.
#   packaging/pre-commit_test.sh bin/cudacompat
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "$1")
case ${TMPDIR:-} in *:*) export TMPDIR=/tmp ;; esac # PATH cannot name such a directory, and the hook's program is there
work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT

# pre-commit's cached clone, with the program in its Go environment.
mkdir -p "$work/clone/packaging" "$work/clone/golangenv-default/bin" "$work/repository"
cp "$top/packaging/pre-commit.sh" "$work/clone/packaging"
ln -s "$program" "$work/clone/golangenv-default/bin/cudacompat"
export PATH=$work/clone/golangenv-default/bin:$PATH
cd "$work/repository"

# hook CODE WORD...: runs the hook with these args and files, and checks its exit code.
hook() {
    local want=$1 code=0
    shift
    python3 - "$top/.pre-commit-hooks.yaml" "$@" >"$work/log" 2>&1 <<'EOF' || code=$?
import os, re, shlex, sys
text = open(sys.argv[1]).read()
entry = " ".join(line.strip() for line in text[text.index("entry: >-") + 9:].splitlines())
words = shlex.split(entry) + sys.argv[2:]
os.execvp(words[0], words)
EOF
    [ "$code" = "$want" ] || { echo "exit code $code, want $want: $*"; cat "$work/log"; exit 1; }
}
machine=(--gpu=L4 --driver=535.183.01 --)

echo 'torch==2.9.0+cu130' >requirements.txt
echo 'torch==2.5.1+cu124' >old.txt
echo precious >"$work/victim"
hook 1 "${machine[@]}" requirements.txt
hook 0 "${machine[@]}" old.txt
hook 1 "${machine[@]}" old.txt requirements.txt
hook 0 -- old.txt
hook 64 --gpu=L4 --driver=535.183.01 requirements.txt
grep -q 'must end with --' "$work/log"

# Names that look like a flag, like the end of flags, and like check's special names.
for directory in '--fail-on=never -ojson=a' "-otext=$work/victim -ojson=a" -- -o 'a b' '*' 'example:healthy' $'new\nline'; do
    mkdir -p -- "./$directory"
    cp requirements.txt "./$directory/"
    hook 1 "${machine[@]}" "$directory/requirements.txt"
    hook 1 "${machine[@]}" old.txt "$directory/requirements.txt" old.txt
    hook 1 "${machine[@]}" -- "$directory/requirements.txt"
done
cp requirements.txt ./--fail-on=never
hook 1 "${machine[@]}" --fail-on=never
hook 1 "${machine[@]}" --fail-on=never requirements.txt
[ "$(cat "$work/victim")" = precious ] || { echo "a file outside the repository was overwritten"; exit 1; }
written=$(find . -type f ! -name requirements.txt ! -path ./old.txt ! -path ./--fail-on=never)
[ -z "$written" ] || { echo "a file was written: $written"; exit 1; }
echo "pre-commit: ok"
