#!/bin/sh
# slurm.conf: Prolog=/etc/slurm/cudacompat-prolog.sh. No job starts on a node that cannot run it: a prolog that fails has
# Slurm drain the node and put the job back into the queue.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin # Slurm sets none for programs that it starts itself
line=$(cudacompat doctor --env none -o line)
[ $? -ne 1 ] || { echo "cudacompat: $line" >&2; exit 1; }
