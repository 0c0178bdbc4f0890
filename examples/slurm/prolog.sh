#!/bin/sh
# slurm.conf: Prolog=/etc/slurm/cudacompat-prolog.sh. Keeps jobs from starting on a node with a proven error: when a
# prolog fails, Slurm drains the node and puts the job back into the queue.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin # Slurm sets no PATH for programs that it starts itself
line=$(cudacompat doctor --env none -o line)
[ $? -ne 1 ] || { echo "cudacompat: $line" >&2; exit 1; }
