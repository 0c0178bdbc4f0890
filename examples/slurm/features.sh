#!/bin/sh
# Prints this node's features for jobs to ask for: one for each CUDA family that its driver is new enough for, so that a
# newer driver has all that an older one has, and one for each compute capability of its GPUs:
#   cudacompat-driver450,cudacompat-driver525,cudacompat-driver580,cudacompat-cc9.0
# Into slurm.conf, after Features= of the node; or, until slurmctld starts again, by scontrol. An update replaces all
# features of a node, so repeat those that it already has:
#   own=$(features.sh) && scontrol update NodeName=$(hostname -s) AvailableFeatures=ib,$own ActiveFeatures=ib,$own
# constraint.sh prints what a job asks for.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin # Slurm sets no PATH for programs that it starts itself
facts=$(cudacompat probe --env none) || exit
facts=$(printf '%s' "$facts" | tr -d ' \n')
driver=$(printf '%s\n' "$facts" | sed -n 's/.*"driver":{"version":"\([0-9.]*\)".*/\1/p')
[ -n "$driver" ] || { echo "features.sh: this node has no NVIDIA driver" >&2; exit 1; }
{
    for floor in $(cudacompat matrix minor_compat -o csv | sed 1d | cut -d , -f 2); do
        oldest=$(printf '%s\n' "$floor" "$driver" | sort -V | head -n 1)
        [ "$oldest" != "$floor" ] || echo "cudacompat-driver${floor%%.*}"
    done
    printf '%s\n' "$facts" | grep -o '"compute_capability":"[0-9][0-9.]*"' | cut -d '"' -f 4 | sort -uV | sed 's/^/cudacompat-cc/'
} | paste -sd , -
