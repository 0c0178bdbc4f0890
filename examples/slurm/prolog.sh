#!/bin/sh
# slurm.conf: Prolog=/etc/slurm/cudacompat-prolog.sh. No job starts on a node that cannot run it: a prolog that fails has
# Slurm drain the node and put the job back into the queue.
line=$(cudacompat doctor --env none -o line)
[ $? -ne 1 ] || { echo "cudacompat: $line" >&2; exit 1; }
