#!/bin/sh
# The features that `cudacompat requires -o slurm` asks for, "cc9.0_driver580", one for each kind of GPU of this node.
# An update replaces all features of a node, so repeat those that it already has:
#   cuda=$(features.sh) && scontrol update NodeName=$(hostname -s) AvailableFeatures=ib,$cuda ActiveFeatures=ib,$cuda
# or in slurm.conf: NodeName=n1 Features=ib,cc9.0_driver580
features=$(nvidia-smi --query-gpu=compute_cap,driver_version --format=csv,noheader |
    sed -n 's/^ *\([0-9][0-9]*\.[0-9]\), *\([0-9][0-9]*\)\..*/cc\1_driver\2/p' | sort -u | paste -sd , -)
[ -n "$features" ] || { echo "features.sh: nvidia-smi shows no GPU" >&2; exit 1; }
echo "$features"
