#!/usr/bin/env bash
# The GitHub Action's one step: installs the program, judges each file, leaves annotations, a summary and the worst
# outcome. action.yml says what the INPUT_ variables are.
set -euo pipefail

wrong() { printf '::error title=cudacompat::%s\n' "$*"; exit 64; }

# release TAG FILE: downloads the program of that release from the forge that serves the action. Its SHA-256 must be
# the one that the workflow names, or else the one in the release's list.
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

# fetch ADDRESS FILE: downloads over the forge's own scheme, also after a redirection.
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

# base: prints the commit of the pull request's base branch.
base() {
    git rev-parse --quiet --verify "refs/remotes/origin/$GITHUB_BASE_REF^{commit}" && return
    # If this fetch fails, FETCH_HEAD is still the checkout's: the pull request's own commit.
    git fetch --quiet --no-tags --depth=1 origin "refs/heads/$GITHUB_BASE_REF" 2>/dev/null &&
        git rev-parse --verify 'FETCH_HEAD^{commit}'
}

# A pull request must not waive its own findings, so the configuration comes from the base branch. If that cannot be
# read, no configuration applies.
base_configuration() {
    local base entry
    : >"$1"
    if ! base=$(base); then
        echo "::warning title=cudacompat configuration::the base branch cannot be fetched, so no .cudacompat.yaml is obeyed"
        return
    fi
    entry=$(git ls-tree "$base" -- .cudacompat.yaml)
    case $entry in
        '') ;;
        100*) git show "$base:./.cudacompat.yaml" >"$1" ;;
        *) echo "::warning title=cudacompat configuration::.cudacompat.yaml of the base branch is no file and is not obeyed" ;;
    esac
}
config=${CUDACOMPAT_CONFIG:-}
if [ -n "${GITHUB_BASE_REF:-}" ] && [ -z "$config" ]; then
    mkdir -p "$RUNNER_TEMP/base"
    config=$RUNNER_TEMP/base/.cudacompat.yaml
    base_configuration "$config"
    flags+=(--config "$config")
fi

# plain TEXT: removes control characters. A newline could otherwise begin a workflow command.
plain() { printf '%s' "${1//[[:cntrl:]]/?}"; }

# skip DIR NAME OBJECT REASON: records a file of the commit that is not written out. A file that the program rejects takes
# its place, so that it does not count as removed. The same object always gets the same placeholder.
declare -A large=()
too_large="it is larger than 8 MiB, which no file that names builds is"
skip() {
    mkdir -p -- "$1/$(dirname -- "./$2")" 2>/dev/null || { unwritten "$2"; return 0; }
    if [ "$4" = "$too_large" ]; then # a sparse file
        [ -n "${large[$3]:-}" ] || large[$3]=$((8388609 + ${#large[@]}))
        truncate -s "${large[$3]}" -- "$1/$2" 2>/dev/null || { unwritten "$2"; return 0; }
    else
        { printf '\0not compared: %s\n' "$3" >"$1/$2"; } 2>/dev/null || { unwritten "$2"; return 0; }
    fi
    cmp -s -- "$1/$2" "${1%/*}/old/$2" || warn "$2" "was not compared: $4"
}

# warn NAME TEXT: prints a warning about a file. A pull request may have chosen its name.
warn() {
    local name
    name=$(plain "$1")
    printf '::warning title=cudacompat::%s %s\n' "${name//%/%25}" "$2"
}

# unwritten NAME: marks the comparison as incomplete, because the file does not even have a placeholder.
unwritten() {
    warn "$1" "was not compared: this runner cannot write a file of that name"
    complete=
}

# The limits for one commit: files and directories, and bytes.
most_entries=20000 most_bytes=$((512 << 20))

# begin_bare creates a repository that borrows the checkout's objects but none of its configuration and hooks. A pull
# request can change .gitattributes, but info/attributes takes precedence.
begin_bare() {
    git init -q --bare --template= "$work/git"
    mkdir -p "$work/git/info"
    echo '* -text !eol -ident -filter -working-tree-encoding !diff' >"$work/git/info/attributes"
    objects=$(realpath -- "$(git rev-parse --git-path objects)")
}

# bare COMMAND...: runs git in that repository.
bare() { GIT_OBJECT_DIRECTORY=$objects git --git-dir="$work/git" -c core.autocrlf=false -c core.protectNTFS=false "$@"; }

# names_builds NAME: reports whether requires compares the file by itself. It reads other files if one of these includes
# them.
names_builds() {
    local code=0
    shopt -s nocasematch
    case ${1##*/} in
        *requirements*.txt | *requirements*.in | uv.lock | poetry.lock | pixi.lock | Pipfile.lock | pylock*.toml | pyproject.toml | \
            conda-lock.y*ml | environment*.y*ml | Dockerfile* | *.Dockerfile | Containerfile | compose*.y*ml | docker-compose*.y*ml) ;;
        *.txt | *.in) [[ /$1 = */requirements/* ]] || code=1 ;;
        *) code=1 ;;
    esac
    shopt -u nocasematch
    return "$code"
}

# resolve COMMIT NAME: prints the object and kind of a link's target in the same commit. For a link out of the commit,
# git prints "symlink 12" and the target.
resolve() {
    local object='' kind='' rest
    case $2 in *$'\n'*) return 0 ;; esac
    read -r object kind rest < <(git cat-file --batch-check --follow-symlinks <<<"$1:$2") || true
    echo "$object $kind $rest"
}

# incomplete NAME TEXT: records a changed file that is not compared, although a compared file may include it.
incomplete() {
    warn "$1" "$2"
    complete=
}

# replaced DIR NAME OBJECT: handles a link or a submodule that replaces a directory and so hides its files.
replaced() {
    local below count=0
    incomplete "$2" "is a link or a submodule now; what was in this directory was not compared"
    while IFS= read -r -d '' below; do
        names_builds "$2/$below" || continue
        [ $((count += 1)) -le 500 ] || return 0
        skip "$1" "$2/$below" "$3" "its directory is a link or a submodule now"
    done < <(cd -- "${1%/*}/old/$2" && find . -type f -printf "%P\0")
}

# is_environment NAME: reports whether this name at the top of a directory makes the program treat the directory as an
# environment or an image.
is_environment() {
    case $1 in
        oci-layout | oci-layout/* | pyvenv.cfg | pyvenv.cfg/* | lib/python3.* | lib64/python3.* | bin/python* | *.dist-info | *.egg-info) ;;
        *) [[ ${1%%/*} = *.dist-info || ${1%%/*} = *.egg-info ]] ;;
    esac
}

# write_tree COMMIT DIR OTHER: writes the regular files of a commit unchanged, because a compared file may include any of
# them. It writes no submodules, applies no filters of git's attributes, and follows a link only within the commit. A pull
# request may contain any number of files of any size and name, so files that name builds come first, then those that
# differ in OTHER.
write_tree() {
    local entry mode kind object size name above bytes=0 count=0 links=0 skipped=0
    local first=() touched=() rest=() written=()
    local -A differs=() seen=()
    mkdir -p "$2"
    while IFS= read -r -d '' name; do differs[/$name]=yes; done < <(git diff-tree -r -z --no-renames --name-only "$1" "$3")
    while IFS= read -r -d '' entry; do # "100644 blob 8baef1b4      12<TAB>requirements.txt"
        name=${entry#*$'\t'}
        case /$name/ in */../* | */./* | *//* | */.[gG][iI][tT]/*) continue ;; esac
        if is_environment "$name"; then
            [ -z "${differs[/$name]:-}" ] || incomplete "$name" "was not compared: it belongs to an environment or an image"
        elif names_builds "$name"; then
            first+=("$entry")
        elif [ -n "${differs[/$name]:-}" ]; then
            touched+=("$entry")
        elif [ "${#rest[@]}" -le "$most_entries" ]; then
            rest+=("$entry")
        fi
    done < <(git ls-tree -r -z -l --full-tree "$1")
    for entry in "${first[@]}" "${touched[@]}" "${rest[@]}"; do
        name=${entry#*$'\t'} above=$name
        read -r mode kind object size <<<"${entry%%$'\t'*}"
        while [[ $above = */* ]]; do
            above=${above%/*}
            [ -z "${seen[/$above]:-}" ] || break
            seen[/$above]=yes count=$((count + 1))
        done
        case $mode in 120000 | 160000) links=$((links + 1)) ;; esac
        if [ $((count += 1)) -gt "$most_entries" ] || [ "$links" -gt 1000 ] || [ "$skipped" -gt 500 ] || [ "$bytes" -gt "$most_bytes" ]; then
            echo "::warning title=cudacompat::the repository has more than $most_entries files, 1000 links or $((most_bytes >> 20)) MiB; the others were not compared"
            complete=
            break
        fi
        case $mode in
            120000 | 160000)
                if [ -d "${2%/*}/old/$name" ] && [ "${2##*/}" = new ]; then
                    replaced "$2" "$name" "$object"
                    continue
                fi
                ;;
        esac
        case $mode in
            100*) ;;
            120000)
                read -r object kind size < <(resolve "$1" "$name") || true
                if [ "$kind" != blob ]; then
                    if names_builds "$name"; then
                        skip "$2" "$name" "${entry%%$'\t'*}" "it is a link that leads to no file of the repository"
                    elif [ "$kind" = tree ] && [ "${2##*/}" = new ] && [[ $(resolve "$3" "$name") != "$object "* ]]; then
                        incomplete "$name" "is a link to a directory that the change touches, and was not compared"
                    fi
                    continue
                fi
                ;;
            *)
                if names_builds "$name"; then
                    skip "$2" "$name" "$object" "it is a submodule, not a file"
                elif [ -n "${differs[/$name]:-}" ] && [ "${2##*/}" = new ]; then
                    incomplete "$name" "was not compared: it is a submodule"
                fi
                continue
                ;;
        esac
        if [ "$size" -gt 8388608 ]; then
            if names_builds "$name"; then
                skipped=$((skipped + 1))
                skip "$2" "$name" "$object" "$too_large"
            elif [ -n "${differs[/$name]:-}" ] && [ "${2##*/}" = new ]; then
                skipped=$((skipped + 1))
                # No file includes a file that git considers binary.
                bare grep -I -q -e '' "$object" && incomplete "$name" "was not compared: $too_large"
            fi
            continue
        fi
        bytes=$((bytes + size))
        written+=("$object"$'\t'"$name")
    done
    write_blobs "$2" "${written[@]}"
}

# write_blobs DIR OBJECT<TAB>NAME...: writes the objects as regular files.
write_blobs() {
    local entry dir=$1 code=0
    shift
    [ $# -gt 0 ] || return 0
    printf '100644 %s\0' "$@" | GIT_INDEX_FILE="$dir.index" bare update-index -z --index-info 2>/dev/null || code=$?
    GIT_INDEX_FILE="$dir.index" bare --work-tree="$dir" checkout-index -q -a --prefix="$dir/" 2>/dev/null || code=$?
    [ "$code" != 0 ] || return 0
    complete=
    echo "::warning title=cudacompat::git cannot write all files of the commit"
    for entry in "$@"; do
        [ -f "$dir/${entry#*$'\t'}" ] || ! names_builds "${entry#*$'\t'}" || unwritten "${entry#*$'\t'}"
    done
}

# api METHOD PATH [FILE]: calls the forge's API. The token is not an argument, because every process of the runner could
# read it there.
api() {
    local data=()
    [ -z "${3:-}" ] || data=(--data-binary "@$3")
    curl --fail --silent --show-error --max-time 30 --request "$1" --header 'Accept: application/vnd.github+json' \
        --header @<(printf 'Authorization: Bearer %s\n' "$INPUT_TOKEN") "${data[@]}" \
        -- "${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/$2"
}

# comment FILE COSTS: writes or updates the pull request's one comment. If the change costs nothing, it starts no comment.
comment() {
    local number id page=1 list
    [[ ${GITHUB_REF:-} =~ ^refs/pull/([0-9]+)/ ]] || return 0
    number=${BASH_REMATCH[1]}
    while [ "$page" -le 10 ]; do
        list=$(api GET "issues/$number/comments?per_page=100&page=$page") || return 1
        id=$(jq -r '[.[] | select(.user.type == "Bot" and (.body | startswith("<!-- cudacompat requires --diff -->")))][0].id // empty' <<<"$list") || return 1
        [ -z "$id" ] && [ "$(jq length <<<"$list")" = 100 ] || break
        page=$((page + 1))
    done
    jq -Rs '{body: .}' <"$1" >"$1.json" || return 1
    if [ -n "$id" ]; then
        api PATCH "issues/comments/$id" "$1.json" >/dev/null
    elif [ "$2" = yes ]; then
        api POST "issues/$number/comments" "$1.json" >/dev/null
    fi
}

# compare: reports the cost of a pull request's changes. It runs no code of the repository.
compare() {
    local work=$RUNNER_TEMP/cudacompat-diff base merge code=0 costs=no outcome=compatible
    local named=() complete=yes objects
    [ -n "${GITHUB_BASE_REF:-}" ] || wrong "mode diff is for pull requests: it compares with the branch that one asks to change"
    base=$(base) || wrong "the base branch cannot be fetched"
    merge=$(git merge-base "$base" HEAD 2>/dev/null) && base=$merge
    rm -rf -- "$work"
    begin_bare
    write_tree "$base" "$work/old" HEAD
    write_tree HEAD "$work/new" "$base"
    for name in instance gpu driver python; do
        input=INPUT_${name^^}
        [ -z "${!input:-}" ] || named+=("--$name" "${!input}")
    done
    if [ -n "$config" ] && grep -q '^supports:' -- "$config"; then named+=(--supports --config "$config"); fi
    "$program" requires "${named[@]}" -o github -o markdown="$work/comment.md" --diff "$work/old" -- "$work/new" || code=$?
    case $code in
        0) ;;
        1) outcome=incompatible costs=yes ;;
        3) outcome=inconclusive costs=yes ;;
        *) exit "$code" ;;
    esac
    [ -n "$complete" ] || [ "$outcome" = incompatible ] || outcome=inconclusive
    # The second line is the sentence. If something is lost, a sign precedes it.
    case $(sed -n 2p "$work/comment.md") in
        '⚠️ '* | '❌ '*) costs=yes ;;
        '**cudacompat**: nothing checked'*) [ "$outcome" != compatible ] || outcome=unchecked ;;
    esac
    [ -n "$complete" ] ||
        printf '\n⚠️ The comparison is incomplete: the log of the job names what was not compared.\n' >>"$work/comment.md"
    cat "$work/comment.md" >>"$GITHUB_STEP_SUMMARY"
    if [ -n "${INPUT_TOKEN:-}" ]; then
        comment "$work/comment.md" "$costs" ||
            echo "::warning title=cudacompat::the comment cannot be written; the summary of the job has it (a fork's token may only read)"
    fi
    echo "outcome=$outcome" >>"$GITHUB_OUTPUT"
    [ "$outcome" != incompatible ] || exit 1
    [ "$outcome" != inconclusive ] || [ "${INPUT_INCONCLUSIVE:-pass}" != fail ] || exit 1
    exit 0
}
case ${INPUT_MODE:-check} in
    check) ;;
    diff) compare ;;
    *) wrong "mode is check or diff" ;;
esac

# is_lock FILE: reports whether FILE is a regular file that git tracks. A directory or a link of that name locks nothing.
is_lock() { [ -f "$1" ] && [ ! -L "$1" ] && [[ $(git ls-files -s -- ":(literal)$1") = 100* ]]; }

# found: lists the tracked files that name builds. If a project has a lock, the lock decides what is installed.
found() {
    local file dir
    while IFS= read -r -d '' file; do
        case ${file##*/} in
            pyproject.toml)
                dir=${file%pyproject.toml}
                is_lock "${dir}uv.lock" || is_lock "${dir}poetry.lock" || is_lock "${dir}pixi.lock" || printf '%s\0' "$file"
                ;;
            *) printf '%s\0' "$file" ;;
        esac
    done < <(git ls-files -z ':(icase,glob)**/*requirements*.txt' ':(icase,glob)**/requirements/*.txt' ':(glob)**/uv.lock' \
        ':(glob)**/pylock*.toml' ':(glob)**/poetry.lock' ':(glob)**/pixi.lock' ':(glob)**/conda-lock.y*ml' \
        ':(glob)**/Pipfile.lock' ':(glob)**/pyproject.toml' ':(glob)**/environment*.yml' ':(glob)**/environment*.yaml' \
        ':(icase,glob)**/Dockerfile*' ':(icase,glob)**/*.Dockerfile' ':(icase,glob)**/Containerfile' \
        ':(glob)**/compose*.y*ml' ':(glob)**/docker-compose*.y*ml')
}

# files: prints the named files, or else the found ones, each followed by a NUL, because a pull request can choose any name.
files() {
    local pattern file IFS=
    if [ -n "${INPUT_FILES:-}" ]; then
        while read -r pattern; do
            # Unquoted and without IFS, a pattern expands to the matching names, or to itself if nothing matches.
            for file in $pattern; do printf '%s\0' "$file"; done
        done <<<"$INPUT_FILES"
    else
        found
    fi
}

# leaves FILE: reports whether a link leads out of the checkout.
leaves() {
    local top
    top=$(pwd -P)
    case $1 in /*) [[ $1 = "$PWD"/* || $1 = "$top"/* ]] || return 1 ;; esac
    [ -e "$1" ] && [[ $(realpath -- "$1") != "$top"/* ]]
}

# code TEXT: prints the text as Markdown code, in more backticks than it contains, so that none of it is Markdown.
code() {
    local text ticks='`'
    text=$(plain "$1")
    while [[ $text = *"$ticks"* ]]; do ticks+='`'; done
    printf '%s %s %s' "$ticks" "$text" "$ticks"
}

# sarif FILE: prints the path of the file's report. If two files have the same name, the second gets a number.
declare -A taken
sarif() {
    local name=${1//[^A-Za-z0-9._-]/-} number=
    while [ -n "${taken[$name$number]:-}" ]; do number=$((${number:-1} + 1)); done
    taken[$name$number]=yes
    report=$INPUT_SARIF/$name$number.sarif
    [ ! -L "$report" ] || rm -f -- "$report"
}

# A pull request must not choose where reports are written, so no link of the checkout may lead to their directory.
if [ -n "${INPUT_SARIF:-}" ]; then
    below=${INPUT_SARIF#"$PWD/"}
    case $below in
        /*) ;;
        *) [ "$(realpath -ms -- "$below")" = "$(realpath -m -- "$below")" ] || wrong "sarif leads through a link in the checkout" ;;
    esac
fi

failed=0 outcome=
# remember OUTCOME: keeps the worst outcome.
remember() {
    case $outcome-$1 in
        incompatible-* | inconclusive-compatible) ;;
        *) outcome=$1 ;;
    esac
}

# reads: reports whether the flags are valid, so that the program must have rejected the file.
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
    case $file in - | example:*) file=./$file ;; esac # a file, not one of check's special names
    code=0
    "$program" check "${flags[@]}" "${outputs[@]}" -- "$file" || code=$?
    case $code in
        0 | 3) ;;
        1) failed=1 ;;
        *) # the program rejected a flag or the file, and printed why
            [ "$code" = 64 ] && [ -z "${INPUT_FILES:-}" ] && reads || exit "$code"
            # Only the name suggested the kind: an environment.yml may be anything.
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
