#!/bin/sh
# The features that `cudacompat requires -o slurm` asks for, "cc9.0_driver580", one for each kind of GPU of this node:
#   scontrol update NodeName=$(hostname -s) AvailableFeatures=$(features.sh) ActiveFeatures=$(features.sh)
# or in slurm.conf: NodeName=n1 Features=cc9.0_driver580
nvidia-smi --query-gpu=compute_cap,driver_version --format=csv,noheader |
    sed -n 's/^ *\([0-9][0-9]*\.[0-9]\), *\([0-9][0-9]*\)\..*/cc\1_driver\2/p' | sort -u | paste -sd , -
