#!/usr/bin/env bash
# The GitHub Action's one step: installs the program, judges each file, leaves annotations, a summary and the worst
# outcome. action.yml says what the INPUT_ variables are.
set -euo pipefail

program=${INPUT_PROGRAM:-}
if [ -z "$program" ]; then
    python3 -m venv "$RUNNER_TEMP/cudacompat"
    "$RUNNER_TEMP/cudacompat/bin/pip" install --quiet "cudacompat${INPUT_VERSION:+==$INPUT_VERSION}"
    program=$RUNNER_TEMP/cudacompat/bin/cudacompat
fi

flags=(--fail-on "${INPUT_FAIL_ON:-error}" --include-root .)
for name in instance gpu driver python; do
    input=INPUT_${name^^}
    [ -z "${!input:-}" ] || flags+=("--$name" "${!input}")
done

# files: those named, else those that git knows, each with a NUL behind it. A pull request chooses names, too.
files() {
    local pattern file IFS=
    if [ -n "${INPUT_FILES:-}" ]; then
        while read -r pattern; do
            # Unquoted and without IFS, a pattern becomes the names that match it; one that matches none stays.
            for file in $pattern; do printf '%s\0' "$file"; done
        done <<<"$INPUT_FILES"
    else
        git ls-files -z 'requirements*.txt' '**/requirements*.txt' uv.lock '**/uv.lock' 'pylock*.toml' '**/pylock*.toml'
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
}

failed=0 outcome=
# remember OUTCOME: the worst so far.
remember() {
    case $outcome-$1 in
        incompatible-* | inconclusive-compatible) ;;
        *) outcome=$1 ;;
    esac
}

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
        *) exit "$code" ;; # a flag or a file that it refused, and said so
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
    echo "::warning title=cudacompat::no requirements*.txt, uv.lock or pylock*.toml was found; name them in files"
    outcome=inconclusive
fi
echo "outcome=$outcome" >>"$GITHUB_OUTPUT"
if [ "$outcome" = inconclusive ] && [ "${INPUT_INCONCLUSIVE:-pass}" = fail ]; then failed=1; fi
exit "$failed"
