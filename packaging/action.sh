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

flags=(--fail-on "${INPUT_FAIL_ON:-error}")
for name in instance gpu driver python; do
    input=INPUT_${name^^}
    [ -z "${!input:-}" ] || flags+=("--$name" "${!input}")
done

# files: those named, else those that git knows.
files() {
    if [ -n "${INPUT_FILES:-}" ]; then
        local pattern
        while read -r pattern; do [ -z "$pattern" ] || compgen -G "$pattern" || printf '%s\n' "$pattern"; done <<<"$INPUT_FILES"
    else
        git ls-files 'requirements*.txt' '**/requirements*.txt' uv.lock '**/uv.lock' 'pylock*.toml' '**/pylock*.toml'
    fi
}

failed=0 outcome=
# remember OUTCOME: the worst so far.
remember() {
    case $outcome-$1 in
        incompatible-* | inconclusive-compatible) ;;
        *) outcome=$1 ;;
    esac
}

while read -r file; do
    outputs=(-o github -o line="$RUNNER_TEMP/cudacompat.line")
    if [ -n "${INPUT_SARIF:-}" ]; then
        mkdir -p "$INPUT_SARIF"
        outputs+=(-o sarif="$INPUT_SARIF/${file//\//-}.sarif")
    fi
    code=0
    "$program" check "$file" "${flags[@]}" "${outputs[@]}" || code=$?
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
    printf -- '- `%s`: %s\n' "$file" "$line" >>"$GITHUB_STEP_SUMMARY"
done < <(files | sort -u)

if [ -z "$outcome" ]; then
    echo "::warning title=cudacompat::no requirements*.txt, uv.lock or pylock*.toml was found; name them in files"
    outcome=inconclusive
fi
echo "outcome=$outcome" >>"$GITHUB_OUTPUT"
if [ "$outcome" = inconclusive ] && [ "${INPUT_INCONCLUSIVE:-pass}" = fail ]; then failed=1; fi
exit "$failed"
