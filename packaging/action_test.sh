#!/usr/bin/env bash
# Runs the Action's step as a runner does, on a repository made for it: packaging/action_test.sh PROGRAM
set -euo pipefail
action=$(cd "$(dirname "$0")" && pwd)/action.sh
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" && git init -q && mkdir -p sub temp
printf 'numpy\ntorch==2.9.0+cu130\n' >requirements.txt
printf 'torch==2.7.1\n' >sub/requirements-gpu.txt
printf 'torch==99.0.0\n' >sub/unknown.txt
git add . # what git does not know is not judged
printf 'torch==0.0.0\n' >requirements-mine.txt

# step CODE OUTCOME VARIABLE=VALUE...: runs the step and compares.
step() {
    local code=0 want=$1 outcome=$2
    shift 2
    : >out; : >summary
    env RUNNER_TEMP="$work/temp" GITHUB_OUTPUT="$work/out" GITHUB_STEP_SUMMARY="$work/summary" INPUT_PROGRAM="$program" \
        INPUT_DRIVER=535.183.01 INPUT_INSTANCE=g4dn.xlarge "$@" "$action" >log 2>&1 || code=$?
    [ "$code $(cat out)" = "$want $outcome" ] || { echo "step $*: exit $code, $(cat out)"; cat log; exit 1; }
}
says() { grep -q "$1" "$2" || { echo "not in $2: $1"; cat "$2"; exit 1; }; }

step 1 outcome=incompatible INPUT_SARIF=sarif
says '^::error file=requirements.txt,line=2,title=driver-too-old' log
says '^- `sub/requirements-gpu.txt`: OK ' summary
ls sarif/requirements.txt.sarif sarif/sub-requirements-gpu.txt.sarif >/dev/null
! grep -q requirements-mine log || { echo "a file that git does not know was judged"; exit 1; }
step 0 outcome=incompatible INPUT_FAIL_ON=never
step 0 outcome=compatible INPUT_FILES='sub/requirements-g*.txt'
step 0 outcome=inconclusive INPUT_FILES=sub/unknown.txt
step 1 outcome=inconclusive INPUT_FILES=sub/unknown.txt INPUT_INCONCLUSIVE=fail
step 64 '' INPUT_FILES=absent.txt
says 'cannot read "absent.txt"' log
echo "action: ok"
