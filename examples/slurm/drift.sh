#!/bin/sh
# In a job script, before the real step: `drift.sh || exit`. It examines each of the job's nodes and judges them as one
# group. If NCCL differs, or if a node cannot run the job, it exits 1, so that the job ends here and does not hang later.
# Each node writes a file of its own into the job's directory, which all nodes must share, because srun mixes the long
# lines of several nodes.
dir=$(mktemp -d "$PWD/cudacompat.XXXXXX") || exit 3
trap 'rm -rf "$dir"' EXIT
srun --ntasks-per-node=1 --output="$dir/%n.json" sh -c 'printf "{\"node\":\"%s\",\"group\":\"job %s\",\"facts\":%s}\n" \
    "$SLURMD_NODENAME" "$SLURM_JOB_ID" "$(cudacompat probe -o fleet)"' || exit 3
cudacompat fleet "$dir"
