"""Asks the tool about packages alone: each in a requirements file and, where a wheel is to be had, in a directory.

    alone.py --tool BINARY --scratch DIR [--only NAME,...] [--largest-mb 150] > table.md

The packages are those of packages*.txt, each name once. A wheel is fetched without what it depends on, unpacked with
`pip install --no-deps --target`, asked about and deleted. What a wheel holds is read by readelf, not by the tool: how
many of its libraries hold machine code for a GPU, and how many ask the loader for a library of CUDA. A package is
`silent` where the tool has neither an answer nor a word for it though it was listed here because it uses a GPU; on
disk, where the files hold CUDA or ask for it.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINES = [("470.57.02", "V100"), ("535.183.01", "L4"), ("535.183.01", "V100"), ("580.95.05", "L4"),
            ("580.95.05", "V100")]
# Those that Python's newest wheels of the lists have; a package that has none for the first is asked for the next.
PYTHONS = ["3.12", "3.10", "3.9", "3.8", "3.13"]
PLATFORMS = ["manylinux_2_39_x86_64", "manylinux_2_35_x86_64", "manylinux_2_34_x86_64", "manylinux_2_28_x86_64",
             "manylinux_2_27_x86_64", "manylinux_2_24_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64",
             "manylinux1_x86_64", "linux_x86_64"]
CUDA = re.compile(r"\[lib(cuda|cudart|cublas|cublasLt|cudnn\w*|cufft|curand|cusolver|cusparse|nccl|nvrtc|nvJitLink)\.so")


def packages():
    """Every name once, at the release of the first list that has it."""
    seen = {}
    for path in sorted(glob.glob(os.path.join(HERE, "packages*.txt"))):
        for line in open(path):
            line = line.split("#")[0].strip()
            if line:
                seen.setdefault(line.split("==")[0], line)
    return list(seen.values())


def ask(tool, *args, stdin=""):
    out = subprocess.run([tool, *args, "-o", "json"], input=stdin, capture_output=True, text=True)
    try:
        return out.returncode, json.loads(out.stdout)
    except ValueError:
        return out.returncode, {"answers": [], "findings": [], "unknown": [], "error": out.stderr}


def word(name, code, report):
    """The tool's answer for one package in a word, and the exit code."""
    own = lambda subject: re.sub(r"[-_.]+", "-", subject.lower()).split(" ")[0].split("[")[0]
    answers = [a["answer"] for a in report["answers"]]
    if answers:
        worst = [a for a in ("broken", "unknown", "works-cpu-only", "works-minor-version", "works") if a in answers][0]
        return f"{worst} {code}"
    if any(u["rule"] == "not-looked-at" for u in report["unknown"]):
        return f"named {code}"
    if any(f["rule"] == "not-looked-at" for f in report["findings"]):
        return f"noted {code}"
    errors = [f["rule"] for f in report["findings"] if f["severity"] == "error" and own(f["subject"]) != "driver"]
    return f"{errors[0]} {code}" if errors else f"silent {code}"


def words(tool, name, *args, stdin=""):
    list_ = []
    for driver, gpu in MACHINES:
        code, report = ask(tool, *args, "--driver", driver, "--gpu", gpu, stdin=stdin)
        list_.append(word(name, code, report))
    return list_


def wheel(requirement, scratch, largest):
    """The wheel's file; else why there is none."""
    for python in PYTHONS:
        args = ["pip", "install", "-q", "--dry-run", "--ignore-installed", "--no-deps", "--only-binary", ":all:",
                "--ignore-requires-python",  # of this Python; --python-version asks for the other's wheels
                "--python-version", python, "--implementation", "cp", "--target", os.path.join(scratch, "none"),
                "--report", "-", requirement]
        for platform in PLATFORMS:
            args += ["--platform", platform]
        out = subprocess.run(args, capture_output=True, text=True)
        if out.returncode == 0:
            break
    else:
        return "", "no wheel"
    url = json.loads(out.stdout)["install"][0]["download_info"]["url"]
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as head:
        size = int(head.headers["Content-Length"]) / 1e6
    if size > largest:
        return "", f"{size:.0f} MB"
    path = os.path.join(scratch, url.split("#")[0].rsplit("/", 1)[1])
    urllib.request.urlretrieve(url, path)
    return path, f"{size:.0f} MB"


def unpack(path, into):
    """The wheel as `pip install --no-deps --target` leaves it: what is below .data's purelib and platlib beside the rest."""
    shutil.unpack_archive(path, into, "zip")
    for data in glob.glob(os.path.join(into, "*.data")):
        for lib in ("purelib", "platlib"):
            if os.path.isdir(os.path.join(data, lib)):
                shutil.copytree(os.path.join(data, lib), into, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(data)


def holds(directory):
    """How many libraries hold code for a GPU, and how many ask the loader for CUDA."""
    code = asks = 0
    for root, _, files in os.walk(directory):
        for name in files:
            path = os.path.join(root, name)
            with open(path, "rb") as f:
                if f.read(4) != b"\x7fELF":
                    continue
            out = subprocess.run(["readelf", "-SdW", path], capture_output=True, text=True, errors="replace").stdout
            code += ".nv_fatbin" in out
            asks += bool(CUDA.search(out))
    return code, asks


def on_disk(tool, requirement, scratch, largest):
    path, what = wheel(requirement, scratch, largest)
    if not path:
        return what, "", []
    directory = os.path.join(scratch, "site")
    shutil.rmtree(directory, ignore_errors=True)
    unpack(path, directory)
    os.remove(path)
    code, asks = holds(directory)
    name = requirement.split("==")[0]
    said = words(tool, name, "doctor", "--env", directory)
    shutil.rmtree(directory)
    return what, f"{code} / {asks}", said


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tool", required=True)
    p.add_argument("--scratch", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--largest-mb", type=float, default=150)
    p.add_argument("--files", action="store_true", help="requirements files only, nothing is fetched")
    a = p.parse_args()
    heads = " | ".join(f"{d.split('.')[0]} {g}" for d, g in MACHINES)
    print(f"| package | in | {heads} | wheel | code / asks |\n|---|---|{'---|' * len(MACHINES)}---|---|", flush=True)
    for requirement in packages():
        name = requirement.split("==")[0]
        if a.only and name not in a.only.split(","):
            continue
        said = words(a.tool, name, "check", "-", "--python", "3.12", stdin=requirement + "\n")
        print(f"| {requirement} | file | {' | '.join(said)} | | |", flush=True)
        if a.files:
            continue
        what, code, said = on_disk(a.tool, requirement, a.scratch, a.largest_mb)
        cells = said or [""] * len(MACHINES)
        print(f"| | disk | {' | '.join(cells)} | {what} | {code} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
