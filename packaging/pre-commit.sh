#!/usr/bin/env bash
# The pre-commit hook. pre-commit appends file names to args, and a name can look like a flag. So args end with "--", and
# only file names follow it.
set -uo pipefail

flags=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    flags+=("$1")
    shift
done
if [ $# = 0 ]; then
    echo "cudacompat: the args of the hook must end with --" >&2
    echo 'hint: args: [--instance=g5.xlarge, --driver=550.90.07, --]' >&2
    exit 64
fi
shift

failed=0
for file; do
    # check gives "-" and example:NAME a special meaning.
    case $file in - | example:*) file=./$file ;; esac
    cudacompat check ${flags[@]+"${flags[@]}"} -- "$file"
    case $? in 0 | 3) ;; *) failed=1 ;; esac
done
exit $failed
