#!/bin/sh
# Prints what a job asks for so that it starts where this software runs, in the features of features.sh:
#   sbatch --constraint="$(constraint.sh requirements.txt)" job
# FILE is what `cudacompat requires` takes. Slurm refuses a job that names a feature of no node, so only GPUs and drivers
# that some node has are named. If no node will do, or anything fails, the script exits 1 and prints a feature that no node
# has: Slurm takes an empty constraint for none, and the job would run anywhere.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
asked=
trap '[ -n "$asked" ] || echo cudacompat-no-such-node' EXIT
fail() { echo "constraint.sh: $1" >&2; exit 1; }
need=$(cudacompat requires --timeout 5m "$@" -o nvidia-require) || fail 'it is not known what this needs'
features=$(sinfo -h -o %f) || fail 'sinfo does not answer'
features=$(echo "$features" | tr , ' ')
floors=$(cudacompat matrix minor_compat -o csv | sed 1d | cut -d , -f 2)
first=$(cudacompat matrix gpu -o csv | sed 1d | cut -d , -f 2,7)
asked=$(awk -v need="${need##*NVIDIA_REQUIRE_CUDA=}" -v features="$features" -v floors="$floors" -v first="$first" '
    # at_least tells whether a version is as high as another.
    function at_least(a, b,    x, y, i) {
        split(a, x, "."); split(b, y, ".")
        for (i = 1; i <= 3; i++) if (x[i] + 0 != y[i] + 0) return x[i] + 0 > y[i] + 0
        return 1
    }
    BEGIN {
        for (n = split(features, words, /[ \n]+/); n; n--) has[words[n]] = 1
        count = split(floors, floor, /[ \n]+/)
        # The oldest branch that knows a GPU of the capability: what shows one is at least that.
        for (n = split(first, row, /[ \n]+/); n; n--) {
            split(row[n], chip, ",")
            if (!(chip[1] in knows) || at_least(knows[chip[1]], chip[2])) knows[chip[1]] = chip[2]
        }
        terms = split(need, term, " ")
        for (i = 1; i <= terms; i++) {
            split(term[i], part, ",")
            gpu = part[1]; sub("arch=", "", gpu)
            name = "cudacompat-cc" gpu
            if (!(name in has)) continue
            if (match(term[i], /driver>=[0-9.]+/)) {
                driver = substr(term[i], RSTART + 8, RLENGTH - 8)
                if (!at_least(knows[gpu], driver)) {
                    for (f = 1; f <= count && !at_least(floor[f], driver); f++) continue
                    split(floor[f], number, ".")
                    feature = "cudacompat-driver" number[1]
                    if (f > count || !(feature in has)) continue
                    name = "(" feature "&" name ")"
                }
            }
            asked = asked (asked ? "|" : "") name
        }
        print asked
    }')
[ -n "$asked" ] || fail 'no node has a GPU and a driver for this'
echo "$asked"
