# Common to the scripts beside it: facts of a sound node and of one whose driver is too old, and a count of what fails.
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../examples
export REAL=${REAL:-$here/../../bin/cudacompat}
work=$(mktemp -d)
chmod 755 "$work"
failed=0

# node FILE DRIVER CUDA [NCCL]: facts of eight H100 with torch 2.8 and this driver
node() {
    python3 - "$examples/facts/p5-48xlarge.json" "$@" <<'END'
import json, sys
example, file, driver, cuda, *nccl = sys.argv[1:]
facts = json.load(open(example))
facts["driver"].update(version=driver, cuda=cuda)
for part in facts["driver"]["libraries"] + facts["driver"]["modules"]:
    part["version"] = driver
for build in facts["environments"][0]["builds"]:
    build["taken"] = [{"name": "libnccl.so.2", "version": n, "cuda": "12", "path": "/opt/nccl/libnccl.so.2"} for n in nccl]
json.dump(facts, open(file, "w"))
END
}

# expect NAME PATTERN TEXT: whether a text is as it must be
expect() {
    case $3 in
        $2) printf 'ok     %s\n' "$1" ;;
        *) printf 'WRONG  %s\n       wanted %s\n       got    %s\n' "$1" "$2" "$3"; failed=1 ;;
    esac
}
