#!/usr/bin/env bash
# Runs the Action's step as a runner does, on a repository made for it: packaging/action_test.sh PROGRAM
set -euo pipefail
action=$(cd "$(dirname "$0")" && pwd)/action.sh
program=$(realpath "$1")
work=$(realpath "$(mktemp -d)")
out=$work/out summary=$work/summary log=$work/log
trap 'rm -rf "$work"' EXIT
mkdir "$work/checkout" "$work/temp" && cd "$work/checkout" && git init -q && mkdir sub
printf 'numpy\ntorch==2.9.0+cu130\n' >requirements.txt
printf 'torch==2.7.1\n' >sub/requirements-gpu.txt
printf 'torch==99.0.0\n' >sub/unknown.txt
git add . # what git does not know is not judged
printf 'torch==0.0.0\n' >requirements-mine.txt

# step CODE OUTCOME VARIABLE=VALUE...: runs the step and compares.
step() {
    local code=0 want=$1 outcome=$2
    shift 2
    : >"$out"; : >"$summary"
    env RUNNER_TEMP="$work/temp" GITHUB_OUTPUT="$out" GITHUB_STEP_SUMMARY="$summary" INPUT_PROGRAM="$program" \
        INPUT_DRIVER=535.183.01 INPUT_INSTANCE=g4dn.xlarge "$@" "$action" >"$log" 2>&1 || code=$?
    [ "$code $(cat "$out")" = "$want $outcome" ] || { echo "step $*: exit $code, $(cat "$out")"; cat "$log"; exit 1; }
}
says() { grep -q "$1" "$2" || { echo "not in $2: $1"; cat "$2"; exit 1; }; }

step 1 outcome=incompatible INPUT_SARIF=sarif
says '^::error file=requirements.txt,line=2,title=driver-too-old' "$log"
says '^- ` sub/requirements-gpu.txt `: ` OK ' "$summary"
ls sarif/requirements.txt.sarif sarif/sub-requirements-gpu.txt.sarif >/dev/null
! grep -q requirements-mine "$log" || { echo "a file that git does not know was judged"; exit 1; }
step 0 outcome=incompatible INPUT_FAIL_ON=never
step 0 outcome=compatible INPUT_FILES='sub/requirements-g*.txt'
step 0 outcome=inconclusive INPUT_FILES=sub/unknown.txt
step 1 outcome=inconclusive INPUT_FILES=sub/unknown.txt INPUT_INCONCLUSIVE=fail
step 64 '' INPUT_FILES=absent.txt
says 'cannot read "absent.txt"' "$log"

# Names as a pull request may choose them: none is an option, a pattern, a second line or Markdown.
git rm -q --cached -r . && rm -rf sub requirements*.txt sarif
names=('-ojson=pwned/requirements.txt' '--help/requirements.txt' 'größe/requirements.txt' $'line\n::error::end/requirements.txt'
    'tick`s``/requirements.txt' 'pipe|[a](https:b)<img src=x>/requirements.txt' 'a b/requirements.txt' '$(touch pwned)/requirements.txt'
    'example:broken/requirements.txt' 'torch==2.9.0/requirements.txt' 'a/b/requirements.txt' 'a-b/requirements.txt' '*/requirements.txt')
for name in "${names[@]}"; do
    mkdir -p -- "${name%/*}" && printf 'torch==2.7.1\n-r ../base.txt\n' >"$name"
done
printf 'numpy\n' >base.txt && cp base.txt a/
git add .
step 0 outcome=compatible INPUT_SARIF=sarif
[ "$(wc -l <"$summary")" = "${#names[@]}" ] || { echo "the summary has other lines than files:"; cat "$summary"; exit 1; }
says '^- ``` tick`s``/requirements.txt ```: ` OK ' "$summary"
says '^- ` line?::error::end/requirements.txt `: ` OK ' "$summary"
says '^- ` pipe|\[a\](https:b)<img src=x>/requirements.txt `: ` OK ' "$summary"
[ "$(ls sarif | wc -l)" = "${#names[@]}" ] || { echo "of two files one report:"; ls sarif; exit 1; }
! grep -q '^::error' "$log" || { echo "a name is a workflow command"; cat "$log"; exit 1; }
[ -z "$(find . -name pwned)" ] || { echo "a name was executed"; exit 1; }
step 0 outcome=compatible INPUT_FILES=$'*/requirements.txt\n-ojson=pwned/requirements.txt\nexample:broken/requirements.txt'

# A link out of the checkout is not followed, and neither is an include.
printf 'torch==2.7.1\npassword TOPSECRET\n' >"$work/outside.txt"
mkdir link && ln -s "$work/outside.txt" link/requirements.txt && git add .
step 0 outcome=inconclusive
says '^::warning .*link/requirements.txt is a link to a file outside the checkout' "$log"
step 0 outcome=inconclusive INPUT_FILES=link/requirements.txt
rm -r link && mkdir link && printf 'torch==2.7.1\n-r ../../outside.txt\n' >link/requirements.txt && git add .
step 0 outcome=inconclusive
says 'outside.txt' "$log"
! grep -q TOPSECRET "$log" "$summary" || { echo "a file outside the checkout was shown"; cat "$log"; exit 1; }
echo "action: ok"
