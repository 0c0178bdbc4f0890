#!/usr/bin/env bash
# The GitHub Action's one step: installs the program, judges each file, leaves annotations, a summary and the worst
# outcome. action.yml says what the INPUT_ variables are.
set -euo pipefail

wrong() { printf '::error title=cudacompat::%s\n' "$*"; exit 64; }

# release TAG FILE: the program of the release of that tag, from the forge that the action itself came from. Its SHA-256 is
# the one that the workflow names, else that of the release's list.
release() {
    local forge=${GITHUB_SERVER_URL:-https://github.com} file address sum
    case $(uname -m) in
        x86_64) file=cudacompat-linux-amd64-static ;;
        aarch64 | arm64) file=cudacompat-linux-arm64-static ;;
        *) wrong "no release has a program for $(uname -m); build one, and name it with program" ;;
    esac
    [ "$(uname -s)" = Linux ] || wrong "the step runs on Linux; elsewhere name a program with program"
    address=$forge/${ACTION_REPOSITORY:?}/releases/download/$1
    fetch "$address/$file" "$2"
    sum=${INPUT_SHA256:-}
    if [ -z "$sum" ]; then
        fetch "$address/SHA256SUMS" "$2.sums"
        sum=$(awk -v file="$file" '$2 == file { print $1 }' "$2.sums")
    fi
    printf '%s  %s\n' "$sum" "$2" | sha256sum --check --quiet --strict - ||
        wrong "$address/$file is not the file of the release: its SHA-256 is another than ${sum:-the list, which lacks it, says}"
    chmod +x "$2"
}

# fetch ADDRESS FILE: over the forge's own scheme, redirections too.
fetch() {
    curl --fail --silent --show-error --location --retry 3 --proto "=${1%%:*}" --output "$2" -- "$1" || wrong "cannot fetch $1"
}

program=${INPUT_PROGRAM:-}
if [ -z "$program" ]; then
    tag=${INPUT_VERSION:-${ACTION_REF:-}}
    [[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+([-.][A-Za-z0-9.]+)?$ ]] ||
        wrong "the action is used at '$tag', which names no release: use it at a tag such as v0.1.0, or give version or program"
    program=$RUNNER_TEMP/cudacompat
    release "$tag" "$program"
fi

flags=(--fail-on "${INPUT_FAIL_ON:-error}" --include-root .)
for name in instance gpu driver python; do
    input=INPUT_${name^^}
    [ -z "${!input:-}" ] || flags+=("--$name" "${!input}")
done

# A pull request must not waive its own findings: the configuration is that of the branch that it asks to change. Where that
# cannot be read, none is obeyed.
base_configuration() {
    local base entry
    : >"$1"
    if ! base=$(git rev-parse --quiet --verify "refs/remotes/origin/$GITHUB_BASE_REF^{commit}"); then
        # Where this fetch fails, FETCH_HEAD is that of the checkout: the pull request's own.
        if git fetch --quiet --no-tags --depth=1 origin "refs/heads/$GITHUB_BASE_REF" 2>/dev/null; then
            base=$(git rev-parse --verify 'FETCH_HEAD^{commit}')
        else
            echo "::warning title=cudacompat configuration::the base branch cannot be fetched, so no .cudacompat.yaml is obeyed"
            return
        fi
    fi
    entry=$(git ls-tree "$base" -- .cudacompat.yaml)
    case $entry in
        '') ;;
        100*) git show "$base:./.cudacompat.yaml" >"$1" ;;
        *) echo "::warning title=cudacompat configuration::.cudacompat.yaml of the base branch is no file and is not obeyed" ;;
    esac
}
if [ -n "${GITHUB_BASE_REF:-}" ] && [ -z "${CUDACOMPAT_CONFIG:-}" ]; then
    mkdir -p "$RUNNER_TEMP/base"
    base_configuration "$RUNNER_TEMP/base/.cudacompat.yaml"
    flags+=(--config "$RUNNER_TEMP/base/.cudacompat.yaml")
fi

# found: what git knows of the kinds that name builds. Where a lock lies beside a project, the lock says what is installed.
found() {
    local file dir
    while IFS= read -r -d '' file; do
        case ${file##*/} in
            pyproject.toml)
                dir=${file%pyproject.toml}
                [ -e "${dir}uv.lock" ] || [ -e "${dir}poetry.lock" ] || [ -e "${dir}pixi.lock" ] || printf '%s\0' "$file"
                ;;
            *) printf '%s\0' "$file" ;;
        esac
    done < <(git ls-files -z ':(glob)**/requirements*.txt' ':(glob)**/uv.lock' ':(glob)**/pylock*.toml' \
        ':(glob)**/poetry.lock' ':(glob)**/pixi.lock' ':(glob)**/conda-lock.yml' ':(glob)**/Pipfile.lock' \
        ':(glob)**/pyproject.toml' ':(glob)**/environment*.yml' ':(glob)**/environment*.yaml' \
        ':(glob)**/Dockerfile*' ':(glob)**/*.Dockerfile' ':(glob)**/Containerfile')
}

# files: those named, else those found, each with a NUL behind it. A pull request chooses names, too.
files() {
    local pattern file IFS=
    if [ -n "${INPUT_FILES:-}" ]; then
        while read -r pattern; do
            # Unquoted and without IFS, a pattern becomes the names that match it; one that matches none stays.
            for file in $pattern; do printf '%s\0' "$file"; done
        done <<<"$INPUT_FILES"
    else
        found
    fi
}

# leaves FILE: a link leads from the checkout to somewhere else on the runner.
leaves() {
    local top
    top=$(pwd -P)
    case $1 in /*) [[ $1 = "$PWD"/* || $1 = "$top"/* ]] || return 1 ;; esac
    [ -e "$1" ] && [[ $(realpath -- "$1") != "$top"/* ]]
}

# plain TEXT: without control characters, of which a line's end would begin a line of its own.
plain() { printf '%s' "${1//[[:cntrl:]]/?}"; }

# code TEXT: as Markdown's code, in more backticks than are in it, so that nothing in it is Markdown.
code() {
    local text ticks='`'
    text=$(plain "$1")
    while [[ $text = *"$ticks"* ]]; do ticks+='`'; done
    printf '%s %s %s' "$ticks" "$text" "$ticks"
}

# sarif FILE: where its report goes; of two files with one name the second has a number.
declare -A taken
sarif() {
    local name=${1//[^A-Za-z0-9._-]/-} number=
    while [ -n "${taken[$name$number]:-}" ]; do number=$((${number:-1} + 1)); done
    taken[$name$number]=yes
    report=$INPUT_SARIF/$name$number.sarif
    [ ! -L "$report" ] || rm -f -- "$report"
}

# A pull request must not choose where reports are written: no link of the checkout leads to their directory.
if [ -n "${INPUT_SARIF:-}" ]; then
    below=${INPUT_SARIF#"$PWD/"}
    case $below in
        /*) ;;
        *) [ "$(realpath -ms -- "$below")" = "$(realpath -m -- "$below")" ] || wrong "sarif leads through a link in the checkout" ;;
    esac
fi

failed=0 outcome=
# remember OUTCOME: the worst so far.
remember() {
    case $outcome-$1 in
        incompatible-* | inconclusive-compatible) ;;
        *) outcome=$1 ;;
    esac
}

# reads: the flags are right, and so it was the file that was refused.
reads() { "$program" check "${flags[@]}" --fail-on never -o line=/dev/null -- torch==2.9.0 >/dev/null 2>&1 || [ $? = 3 ]; }

while IFS= read -r -d '' file; do
    if leaves "$file"; then
        name=$(plain "$file")
        echo "::warning title=cudacompat::${name//%/%25} is a link to a file outside the checkout and was not read"
        printf -- '- %s: not read, a link to a file outside the checkout\n' "$(code "$file")" >>"$GITHUB_STEP_SUMMARY"
        remember inconclusive
        continue
    fi
    outputs=(-o github -o line="$RUNNER_TEMP/cudacompat.line")
    if [ -n "${INPUT_SARIF:-}" ]; then
        mkdir -p "$INPUT_SARIF"
        sarif "$file"
        outputs+=(-o sarif="$report")
    fi
    case $file in - | example:*) file=./$file ;; esac # a file, whatever check calls so
    code=0
    "$program" check "${flags[@]}" "${outputs[@]}" -- "$file" || code=$?
    case $code in
        0 | 3) ;;
        1) failed=1 ;;
        *) # a flag or a file that it refused, and said so
            [ "$code" = 64 ] && [ -z "${INPUT_FILES:-}" ] && reads || exit "$code"
            # A name was all that told its kind: an environment.yml may be anything.
            name=$(plain "$file")
            echo "::notice title=cudacompat::${name//%/%25} was not judged: it is no file that cudacompat reads"
            printf -- '- %s: not judged\n' "$(code "$file")" >>"$GITHUB_STEP_SUMMARY"
            remember inconclusive
            continue
            ;;
    esac
    line=$(cat "$RUNNER_TEMP/cudacompat.line")
    case $line in
        FAIL*) remember incompatible ;; # also with --fail-on never
        OK*) remember compatible ;;
        *) remember inconclusive ;;
    esac
    printf -- '- %s: %s\n' "$(code "$file")" "$(code "$line")" >>"$GITHUB_STEP_SUMMARY"
done < <(files | sort -zu)

if [ -z "$outcome" ]; then
    echo "::warning title=cudacompat::no requirements, lock, project, environment.yml or Dockerfile was found in git; name them in files"
    outcome=inconclusive
fi
echo "outcome=$outcome" >>"$GITHUB_OUTPUT"
if [ "$outcome" = inconclusive ] && [ "${INPUT_INCONCLUSIVE:-pass}" = fail ]; then failed=1; fi
exit "$failed"
