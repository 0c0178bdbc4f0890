#!/bin/sh
# Writes a feature file for NFD's local source, so that nodes bear the label
# feature.node.kubernetes.io/cudacompat.outcome=compatible (or incompatible, inconclusive). Run it from a timer.
dir=${FEATURES:-/etc/kubernetes/node-feature-discovery/features.d}
cudacompat doctor --env none -o line >/dev/null 2>&1
case $? in
    0) outcome=compatible ;;
    1) outcome=incompatible ;;
    *) outcome=inconclusive ;;
esac
echo "cudacompat.outcome=$outcome" >"$dir/.cudacompat.new" && mv "$dir/.cudacompat.new" "$dir/cudacompat"
