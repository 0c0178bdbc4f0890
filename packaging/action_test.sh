#!/usr/bin/env bash
# Runs the Action's step as a runner does, in a new repository: packaging/action_test.sh PROGRAM
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
git add . # untracked files are not judged
printf 'torch==0.0.0\n' >requirements-mine.txt

# step CODE OUTCOME VARIABLE=VALUE...: runs the step and checks its exit code and outcome.
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
# Links that a pull request commits in the place of reports or of their directories.
mkdir "$work/own" && echo precious >"$work/own/file"
rm sarif/requirements.txt.sarif && ln -s "$work/own/file" sarif/requirements.txt.sarif && ln -s "$work/own" linked
step 1 outcome=incompatible INPUT_SARIF=sarif
[ -f sarif/requirements.txt.sarif ] && [ ! -L sarif/requirements.txt.sarif ] || { echo "a link stayed in a report's place"; exit 1; }
for directory in linked linked/new ./linked "$PWD/linked"; do step 64 '' INPUT_SARIF="$directory"; done
step 1 outcome=incompatible INPUT_SARIF="$work/elsewhere"
[ "$(cat "$work/own/file")" = precious ] && [ "$(ls "$work/own")" = file ] || { echo "a report was written outside the checkout"; exit 1; }
rm linked
! grep -q requirements-mine "$log" || { echo "a file that git does not know was judged"; exit 1; }
step 0 outcome=incompatible INPUT_FAIL_ON=never
step 0 outcome=compatible INPUT_FILES='sub/requirements-g*.txt'
step 0 outcome=inconclusive INPUT_FILES=sub/unknown.txt
step 1 outcome=inconclusive INPUT_FILES=sub/unknown.txt INPUT_INCONCLUSIVE=fail
step 64 '' INPUT_FILES=absent.txt
says 'cannot read "absent.txt"' "$log"

# Names that a pull request may choose: none may act as an option, a pattern, a second line or Markdown.
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
[ "$(find sarif -type f | wc -l)" = "${#names[@]}" ] || { echo "of two files one report:"; ls sarif; exit 1; }
! grep -q '^::error' "$log" || { echo "a name is a workflow command"; cat "$log"; exit 1; }
[ -z "$(find . -name pwned)" ] || { echo "a name was executed"; exit 1; }
step 0 outcome=compatible INPUT_FILES=$'*/requirements.txt\n-ojson=pwned/requirements.txt\nexample:broken/requirements.txt'

# Neither a link nor an include may lead out of the checkout.
printf 'torch==2.7.1\npassword TOPSECRET\n' >"$work/outside.txt"
mkdir link && ln -s "$work/outside.txt" link/requirements.txt && git add .
step 0 outcome=inconclusive
says '^::warning .*link/requirements.txt is a link to a file outside the checkout' "$log"
step 0 outcome=inconclusive INPUT_FILES=link/requirements.txt
rm -r link && mkdir link && printf 'torch==2.7.1\n-r ../../outside.txt\n' >link/requirements.txt && git add .
step 0 outcome=inconclusive
says 'outside.txt' "$log"
! grep -q TOPSECRET "$log" "$summary" || { echo "a file outside the checkout was shown"; cat "$log"; exit 1; }

# Three repositories on a forge that is a directory. The step takes the release of its own tag, and only if its hash is
# the one in the workflow or in the release's list.
forge=$work/forge name=cudacompat-linux-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')-static
for repository in sound changed unlisted; do
    release=$forge/owner/$repository/releases/download/v0.1.0
    mkdir -p "$release" && cp "$program" "$release/$name"
    (cd "$release" && sha256sum "$name" >SHA256SUMS)
done
printf x >>"$forge/owner/changed/releases/download/v0.1.0/$name"
sed -i 's/cudacompat/another/' "$forge/owner/unlisted/releases/download/v0.1.0/SHA256SUMS"
python3 -u -m http.server --bind 127.0.0.1 --directory "$forge" 0 >"$work/port" 2>"$work/requests" &
trap 'kill $!; rm -rf "$work"' EXIT
for _ in $(seq 100); do grep -q port "$work/port" && break; sleep 0.1; done
port=$(sed 's/.*port \([0-9]*\).*/\1/' "$work/port")
sum=$(sha256sum <"$program" | cut -d ' ' -f 1)

# used CODE OUTCOME REPOSITORY REF VARIABLE=VALUE...: runs the step as a workflow does, without a given program.
used() {
    local code=$1 outcome=$2 repository=$3 ref=$4
    shift 4
    rm -rf "$work/temp" && mkdir "$work/temp"
    step "$code" "$outcome" INPUT_PROGRAM= GITHUB_SERVER_URL="http://127.0.0.1:$port" ACTION_REPOSITORY="owner/$repository" \
        ACTION_REF="$ref" "$@"
}
git rm -q --cached -r . && cd .. && rm -rf checkout && mkdir checkout && cd checkout && git init -q && mkdir conda image locked
printf 'torch==2.7.1\n' >requirements.txt && git add .
used 0 outcome=compatible sound v0.1.0
used 0 outcome=compatible sound v0.1.0 INPUT_SHA256="$sum"
used 0 outcome=compatible sound main INPUT_VERSION=v0.1.0
used 64 '' sound main
says "used at 'main', which names no release" "$log"
used 64 '' sound 'v0.1.0/../../..'
used 64 '' sound v0.2.0
says 'cannot fetch .*/v0.2.0/' "$log"
used 64 '' sound v0.1.0 INPUT_SHA256="${sum//[0-9]/0}"
says 'is not the file of the release' "$log"
for repository in changed unlisted; do
    used 64 '' "$repository" v0.1.0
    says 'is not the file of the release' "$log"
done
used 0 outcome=compatible changed v0.1.0 INPUT_PROGRAM="$program"

# The files that the step finds: a project only if it has no lock, and no file that only has the right name.
printf '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch==2.9.0"]\n' | tee pyproject.toml >locked/pyproject.toml
printf '[[package]]\nname = "torch"\nversion = "2.9.0"\nfiles = []\n\n[metadata]\nlock-version = "2.1"\ncontent-hash = "0"\n' >locked/poetry.lock
printf 'dependencies:\n  - pytorch=2.5.1=py3.12_cuda12.4_cudnn9.1.0_0\n' >conda/environment.yml
printf 'FROM python:3.12\nRUN pip install torch==2.9.0\n' | tee image/Dockerfile >gpu.Dockerfile
printf 'stages: [test]\n' >environment.yaml
git add .
step 0 outcome=inconclusive
for file in requirements.txt pyproject.toml locked/poetry.lock conda/environment.yml image/Dockerfile gpu.Dockerfile; do
    says "^- \` $file \`: \` " "$summary"
done
says '^- ` environment.yaml `: not judged' "$summary"
! grep -q locked/pyproject.toml "$summary" || { echo "a project was judged beside its lock"; exit 1; }
# Only a regular file that git tracks is a lock.
mkdir -p named/uv.lock led && printf x >named/uv.lock/x && cp pyproject.toml named/ && cp pyproject.toml led/
ln -s ../requirements.txt led/uv.lock && git add named led && cp -r locked mine && git add mine/pyproject.toml
step 0 outcome=inconclusive
for file in named led mine; do says "^- \` $file/pyproject.toml \`: \` " "$summary"; done
git rm -q -r -f --cached named led mine && rm -r named led mine
step 64 '' INPUT_DRIVER=nonsense
step 64 '' INPUT_FILES=environment.yaml

# The configuration comes from the base branch. A pull request cannot waive its own findings or print a file through a link.
waiver() { printf 'version: 1\nignore:\n- {rule: driver-too-old, reason: %s}\n' "$1"; }
commit() { git add -A && git -c user.name=a -c user.email=a@b commit -q -m "$1"; }
pull() { # CODE OUTCOME: runs the step in a fresh checkout of the pull request
    rm -rf "$work/temp" "$work/pull" && mkdir "$work/temp"
    git clone -q --depth 1 --branch pull "file://$work/base" "$work/pull" && cd "$work/pull"
    step "$@" GITHUB_BASE_REF=main
}
mkdir "$work/base" && cd "$work/base" && git init -q -b main && printf 'torch==2.9.0+cu130\n' >requirements.txt && commit base
git checkout -q -b pull && waiver mine >.cudacompat.yaml && commit pull
pull 1 outcome=incompatible
cd "$work/base" && echo TOPSECRET >"$work/secret" && ln -sf "$work/secret" .cudacompat.yaml && commit link
pull 1 outcome=incompatible
! grep -q TOPSECRET "$log" || { echo "a file of the runner was shown"; cat "$log"; exit 1; }
cd "$work/base" && git checkout -q main && waiver theirs >.cudacompat.yaml && commit waives
pull 0 outcome=compatible
says 'waived: theirs' "$log"
mv "$work/base" "$work/gone"
rm -rf "$work/temp" && mkdir "$work/temp"
git rev-parse HEAD >.git/FETCH_HEAD # as actions/checkout leaves it: the pull request
git update-ref -d refs/remotes/origin/main && step 1 outcome=incompatible GITHUB_BASE_REF=main
says '^::warning title=cudacompat configuration::the base branch cannot be fetched' "$log"
mv "$work/gone" "$work/base"
cd "$work/base" && ln -sf requirements.txt .cudacompat.yaml && commit linked
pull 1 outcome=incompatible
says '^::warning title=cudacompat configuration::.cudacompat.yaml of the base branch is no file' "$log"
# Without a base branch, the checkout's own configuration applies.
step 1 outcome=incompatible
rm .cudacompat.yaml && waiver own >.cudacompat.yaml && step 0 outcome=compatible

# Mode diff: the cost of a pull request, in one comment that is updated in place. Our own curl acts as the forge.
mkdir "$work/api" && cat >"$work/api/curl" <<'EOF'
#!/usr/bin/env bash
while [ $# -gt 0 ]; do
    case $1 in
        --request) method=$2; shift ;;
        --header) case $2 in @*) [ "$(cat "${2#@}")" = "Authorization: Bearer secret" ] || exit 22 ;; esac; shift ;;
        --data-binary) data=${2#@}; shift ;;
        https://*) address=$1 ;;
    esac
    shift
done
echo "$method ${address#https://api.github.com/}" >>"$FORGE/asked"
[ -z "${REFUSES:-}" ] || [ "$method" = GET ] || exit 22
case $method in
    GET) cat "$FORGE/comments" 2>/dev/null || echo '[]' ;;
    *) jq -r .body "$data" >"$FORGE/body"
       printf '[{"id":1,"user":{"type":"User"},"body":"<!-- cudacompat requires --diff -->"},{"id":7,"user":{"type":"Bot"},"body":"<!-- cudacompat requires --diff --> x"}]' >"$FORGE/comments" ;;
esac
EOF
chmod +x "$work/api/curl"
compare() { # CODE OUTCOME VARIABLE=VALUE...: runs the step in a fresh checkout of the pull request
    cd "$work" && rm -rf "$work/temp" "$work/pull" && mkdir "$work/temp" && : >"$work/api/asked"
    git clone -q --depth 1 --branch pull "file://$work/repo" "$work/pull" && cd "$work/pull"
    step "$@" GITHUB_BASE_REF=main GITHUB_REF=refs/pull/5/merge GITHUB_REPOSITORY=o/r FORGE="$work/api" \
        INPUT_MODE=diff INPUT_DRIVER= INPUT_INSTANCE= PATH="$work/api:$PATH"
}
mkdir "$work/repo" && cd "$work/repo" && git init -q -b main
printf 'torch==2.10.0\n' >requirements.txt && printf 'torch==2.10.0\n' >untouched-requirements.txt && commit base
# A change of no file that is read begins no comment.
git checkout -q -b pull && printf x >backend.rs && commit words
compare 0 outcome=unchecked INPUT_TOKEN=secret
says '^GET ' "$work/api/asked"
! grep -q POST "$work/api/asked" || { echo "a comment was begun although nothing was checked"; exit 1; }
cd "$work/repo" && git checkout -q -B pull main && printf 'torch==2.11.0\n' >requirements.txt && commit bump
compare 0 outcome=compatible
says 'driver 525.60.13 → 580.65.06; V100 and 19 more GPU products lost (compute capability 7.0, for which torch 2.11.0 has no code). To hold it: `torch<2.11`.$' "$summary"
[ ! -s "$work/api/asked" ] || { echo "the forge was asked without a token"; exit 1; }
! grep -q untouched "$summary" || { echo "a file that does not differ was compared"; exit 1; }
compare 0 outcome=compatible INPUT_TOKEN=secret
says '^POST repos/o/r/issues/5/comments$' "$work/api/asked"
says '^<!-- cudacompat requires --diff -->$' "$work/api/body"
compare 0 outcome=compatible INPUT_TOKEN=secret
says '^PATCH repos/o/r/issues/comments/7$' "$work/api/asked"
compare 0 outcome=compatible INPUT_TOKEN=secret REFUSES=yes
says '^::warning title=cudacompat::the comment cannot be written' "$log"
! grep -q secret "$log" || { echo "the token is in the log"; exit 1; }
step 64 '' INPUT_MODE=diff
says 'mode diff is for pull requests' "$log"

# The step fails only if the change breaks a promise of the base branch, which the pull request cannot change.
cd "$work/repo" && git checkout -q main && printf 'version: 1\nsupports: {driver: "525.60.13", gpus: [T4]}\n' >.cudacompat.yaml && commit promise
git checkout -q pull && git -c user.name=a -c user.email=a@b rebase -q main && compare 1 outcome=incompatible
says 'T4, driver 525.60.13 promised: torch 2.11.0 (line 1) needs driver' "$summary"
cd "$work/repo" && printf 'version: 1\nsupports: {driver: "580.65.06", gpus: [T4]}\n' >.cudacompat.yaml && commit lowered && compare 1 outcome=incompatible
cd "$work/repo" && printf 'torch==2.9.1\n' >requirements.txt && commit down && compare 0 outcome=compatible

# A stranger's pull request: links, names, an attribute that hides a file, and 21,000 files. The step runs none of it,
# writes nothing outside its own directory, and ends.
cd "$work/repo" && printf 'torch==2.11.0\n' >requirements.txt && printf '* export-ignore filter=x -text\n' >.gitattributes
ln -s "$work/secret" secret-requirements.txt && ln -s / root && mkdir -p -- '-x' $'a\n::error::pwn' 'b`@x <img>' many
for name in '-x' $'a\n::error::pwn' 'b`@x <img>'; do printf 'torch==2.11.0\n' >"$name/requirements.txt"; done
(cd many && for ((i = 0; i < 21000; i++)); do : >"$i.txt"; done)
commit hostile && before=$(find "$work" -path "$work/temp" -prune -o -path "$work/pull" -prune -o -type f -print | sort | cksum)
start=$SECONDS
compare 1 outcome=incompatible INPUT_TOKEN=secret
[ $((SECONDS - start)) -lt 120 ] || { echo "$((SECONDS - start)) s for 21,000 files"; exit 1; }
says '^::warning title=cudacompat::the repository has more than 20000 files' "$log"
! grep -qE 'TOPSECRET|^::error::pwn' "$log" "$summary" || { echo "a link was followed, or a name was a command"; cat "$log"; exit 1; }
[ "$before" = "$(find "$work" -path "$work/temp" -prune -o -path "$work/pull" -prune -o -type f -print | sort | cksum)" ] ||
    { echo "a file was written outside"; exit 1; }
# A file of the commit that the step does not write out (too large, a link, a submodule) does not count as removed.
cd "$work" && rm -rf repo && mkdir repo && cd repo && git init -q -b main && mkdir sub
printf 'torch==2.8.0+cu126\n' | tee requirements.txt >sub/requirements.txt && commit base && git branch pull
hides() { # OUTCOME SENTENCE [SUMMARY]: checks the outcome of the pull request and the step's sentence
    commit hides && compare "$([ "$1" = incompatible ] && echo 1 || echo 0)" "outcome=$1" INPUT_GPU=L4 INPUT_DRIVER=535.183.01
    says "$2" "$log"
    if grep -q ': file removed' "$summary"; then echo "a file was called removed"; cat "$log" "$summary"; exit 1; fi
    [ "$1" != inconclusive ] || says "${3:-requirements.txt\` was not compared}" "$summary"
    cd "$work/repo" && git checkout -q -f pull && git reset -q --hard main && git clean -qffdx
}
compare() { # as above, with the host that is lost
    cd "$work" && rm -rf "$work/temp" "$work/pull" && mkdir "$work/temp"
    git clone -q --depth 1 --branch pull "file://$work/repo" "$work/pull" && cd "$work/pull"
    step "$@" GITHUB_BASE_REF=main GITHUB_REPOSITORY=o/r INPUT_MODE=diff INPUT_INSTANCE=
}
git checkout -q pull
large() { printf 'torch==2.9.0+cu130\n'; head -c 9000000 /dev/zero | tr '\0' "$1"; echo; }
large '#' >requirements.txt; hides inconclusive '^::warning .*::requirements.txt was not compared: it is larger than 8 MiB'
printf 'torch==2.9.0+cu130\n' >deps.list; ln -sf deps.list requirements.txt; hides incompatible 'L4, driver 535.183.01 lost'
ln -sf "$work/secret" requirements.txt; hides inconclusive '^::warning .*::requirements.txt was not compared: it is a link'
rm requirements.txt; ln -s requirements.txt requirements.txt; hides inconclusive '^::warning .*::requirements.txt was not compared: it is a link'
git mv sub other; printf 'torch==2.9.0+cu130\n' >other/requirements.txt; ln -s other sub
hides incompatible '^::warning .*::sub/requirements.txt was not compared: its directory is a link'
large '#' >deps.list; ln -sf deps.list requirements.txt; hides inconclusive '^::warning .*::requirements.txt was not compared: it is larger than 8 MiB'
git rm -q requirements.txt; git init -q requirements.txt; git -C requirements.txt -c user.name=a -c user.email=a@b commit -q --allow-empty -m x
git -c advice.addEmbeddedRepo=false add requirements.txt; hides inconclusive '^::warning .*::requirements.txt was not compared: it is a submodule'
large '#' >deps.list; hides inconclusive '^::warning .*::deps.list was not compared: it is larger than 8 MiB' 'The comparison is incomplete'
head -c 9000000 /dev/zero >model.bin; printf x >oci.png; hides unchecked 'nothing checked'
printf '{}' >oci-layout; hides inconclusive '^::warning .*::oci-layout was not compared' 'The comparison is incomplete'
# A file that a compared file includes is compared, whatever its name.
includes() { # FILE NEW: the pull request changes FILE of the base branch to NEW, and so loses L4
    git checkout -q main && git add -A && commit includes && git checkout -q pull && git reset -q --hard main
    printf %b "$2" >"$1"; hides incompatible 'L4, driver 535.183.01 lost'
}
builds='torch==2.8.0+cu126\n' newer='torch==2.9.0+cu130\n' empty=$(git rev-parse main)
reset() { git checkout -q main && git reset -q --hard "$empty" && git clean -qffdx; }
reset; printf -- '-r base.req\n' >requirements.txt; printf %b "$builds" >base.req; includes base.req "$newer"
reset; mkdir common; printf -- '-r ../common/deps.pip\n' >sub/requirements.txt; printf %b "$builds" >common/deps.pip; includes common/deps.pip "$newer"
reset; printf -- '-r base.req\n' >requirements.txt; printf %b "$builds" >deps.list; ln -s deps.list base.req; includes deps.list "$newer"
reset; printf 'FROM python:3.12\nCOPY deps.list .\nRUN pip install -r deps.list\n' >Dockerfile; printf %b "$builds" >deps.list; includes deps.list "$newer"
reset; printf '[project]\nname = "x"\nversion = "1"\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies = {file = ["deps.list"]}\n' >pyproject.toml
printf %b "$builds" >deps.list; includes deps.list "$newer"
reset; printf 'FROM python:3.12\nCOPY i.sh .\nRUN sh i.sh\n' >Dockerfile; echo 'pip install torch==2.8.0' >i.sh; includes i.sh 'pip install torch==2.9.0+cu130\n'
# If the change touches a link to a directory, the link is not compared.
reset; mkdir common; ln -s common led; printf -- '-r led/deps.pip\n' >requirements.txt; printf %b "$builds" >common/deps.pip; commit led
git checkout -q pull && git reset -q --hard main && printf %b "$newer" >common/deps.pip
commit touches && compare 0 outcome=inconclusive && says '^::warning .*::led is a link to a directory that the change touches' "$log"
cd "$work/repo" && reset && git checkout -q pull && git reset -q --hard main
# Two different large files of the same size differ. The same file on both sides does not.
git checkout -q main && large '#' >requirements.txt && commit large && git checkout -q pull && git reset -q --hard main
large ';' >requirements.txt; hides inconclusive '^::warning .*::requirements.txt was not compared: it is larger than 8 MiB'
printf 'torch==2.7.1\n' >sub/requirements.txt; hides compatible 'this change needs no newer driver and drops no GPU'
# A link with a lock's name hides no project. Packages that a change adds must run on the named machine.
git checkout -q main && reset && printf '[project]\nname = "p"\nversion = "1"\ndependencies = ["torch==2.8.0+cu126"]\n' >pyproject.toml
mkdir uv.lock && echo >uv.lock/x; includes pyproject.toml '[project]\nname = "p"\nversion = "1"\ndependencies = ["torch==2.9.0+cu130"]\n'
printf 'torch==2.9.0+cu130\n' >requirements-gpu.txt; hides incompatible 'it does not run on L4, driver 535.183.01'
echo "action: ok"
