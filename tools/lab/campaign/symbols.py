"""Writes libcuda_symbols.txt: the functions of the driver's library, each with the first driver branch that has it.

    symbols.py FOLDER CUDATYPEDEFS_H CUDA_H > libcuda_symbols.txt

FOLDER holds libcuda.so.VERSION of several branches, as Debian's non-free packages bring them (libcuda1,
libnvidia-tesla-470-cuda1, libnvidia-legacy-390xx-cuda1 ...). Functions that are newer than these are NVIDIA's own
list: cudaTypedefs.h of a cudart wheel names each with the CUDA release that brought it (PFN_cuLogsCurrent_v12090),
data/cuda.csv that release's driver, and cuda.h the name that the library exports (cuStreamGetCtx_v2).
No branch has lost a function of an older one so far; the program stops where that is not so.
"""
import csv
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def exported(path):
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[2].split("@")[0] for line in out.splitlines() if line.split()[2].startswith("cu")}


def branch_of(cuda):
    """The branch of the first driver of a CUDA minor release, 12090: 575."""
    minor = f"{cuda // 1000}.{cuda % 1000 // 10}."
    with open(os.path.join(HERE, "../../../data/cuda.csv")) as f:
        return min(int(row["branch"]) for row in csv.DictReader(f) if row["release"].startswith(minor) and row["branch"])


def newer(header, types):
    """The functions of cuda.h by the CUDA release of their newest form in cudaTypedefs.h."""
    known = {}
    for name, cuda in re.findall(r"PFN_(cu\w+?)_v(\d+)(?:_ptds|_ptsz)?\)", types):
        known.setdefault(name, []).append(int(cuda))
    renamed = re.findall(r"define cu\w+\s+(?:__CUDA_API_\w+\()?(cu\w+)", header)
    for name in set(re.findall(r"\b(cu[A-Z]\w+?)\(", header) + renamed):
        base = re.sub(r"(_v\d+)?(_ptds|_ptsz)?$", "", name)
        if base in known:
            yield name, min(known[base]) if base == name else max(known[base])


def main():
    folder, types, header = sys.argv[1:]
    first, before = {}, set()
    for path in sorted(glob.glob(os.path.join(folder, "libcuda.so.*")), key=lambda p: int(p.rsplit(".so.", 1)[1].split(".")[0])):
        branch, names = int(path.rsplit(".so.", 1)[1].split(".")[0]), exported(path)
        if before - names:
            sys.exit(f"{path} lacks {sorted(before - names)}")
        before = names
        for name in names:
            first.setdefault(name, branch)
    for name, cuda in newer(open(header).read(), open(types).read()):
        if name not in first and cuda >= 12050:
            first[name] = branch_of(cuda)
            for form in ("_ptsz", "_ptds"):
                if re.search(rf"__CUDA_API_{form[1:].upper()}\({name}\)", open(header).read()):
                    first[name + form] = first[name]
    for name in sorted(first):
        print(name, first[name])


main()
