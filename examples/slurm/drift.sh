#!/bin/sh
# In a job script, before the real step: `drift.sh || exit`. It looks at each of the job's nodes and judges them as one
# group. Different NCCL, or a node that cannot run the job, is exit code 1: the job ends here, not after an hour in a
# hang. Each node writes a file of its own into the job's directory, which the nodes share: srun mixes the long lines of
# several nodes.
dir=$(mktemp -d "$PWD/cudacompat.XXXXXX") || exit 3
trap 'rm -rf "$dir"' EXIT
srun --ntasks-per-node=1 --output="$dir/%n.json" sh -c 'printf "{\"node\":\"%s\",\"group\":\"job %s\",\"facts\":%s}\n" \
    "$SLURMD_NODENAME" "$SLURM_JOB_ID" "$(cudacompat probe | tr -d "\n")"'
cudacompat fleet "$dir"
