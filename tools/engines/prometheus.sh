#!/bin/bash
# The rules of examples/prometheus, by promtool, and what the program writes for it. REAL names the program.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
node "$work/sound.json" 570.133.20 12.8
node "$work/old.json" 470.256.02 11.4
promtool --version 2>&1 | head -n 1
expect "the rules are read" '*SUCCESS*' "$(promtool check rules "$examples/prometheus/cudacompat.rules.yml" 2>&1)"
expect "the rules' tests pass" '*SUCCESS*' "$(promtool test rules "$examples/prometheus/cudacompat.test.yml" 2>&1)"
for what in "check $work/old.json" "fleet $work"; do
    # shellcheck disable=SC2086 # a command and its argument
    "$REAL" $what -o prometheus >"$work/metrics" || true # the code is the outcome
    said=$(promtool check metrics <"$work/metrics" 2>&1 && echo none) || true
    expect "$what: promtool finds nothing wrong with the metrics" none "$said"
done
exit $failed
