"""Draws packages with CUDA code by a seed, damages them, and compares the tool with the interpreter and the loader.

    draw.py run --tool BINARY --scratch DIR --out FILE --seed N [--packages 30] [--minutes 45] [--skip FILE,...]
    draw.py run … --only NAME,...     (the same states of some of its packages anew)
    draw.py run … --install-only      (what a later run with --only judges)
    draw.py report FILE...

Nothing is chosen by hand: the seed shuffles pool.txt, and a name counts where the index has a wheel of it that holds
machine code or asks the loader for a library of CUDA. Each package is installed alone and, where it has to do with
torch, beside several. Then each environment is judged (a) as it is, (b) with one of NVIDIA's wheels a release up or
down, --no-deps, (c) with a library of the import's closure removed, cut short, or replaced by another release's.

The truth is `import X` in the environment's own interpreter, and what oracle.py knows that X opens later. Where X's own
libraries for the GPU are opened after its import, and after torch's where that is there, and none of them loads, X is
broken, too: it goes without the GPU, if it goes. libcuda is a stand-in with the functions of one driver branch (libcuda_symbols.txt) and no device; so is libnvidia-ml. The tool is
asked with that branch as --driver, and its links `python` and `libraries` are compared: the machine's links are not in
question. Where an import ends for want of a device, nothing is proven and nothing counted.

Needs what campaign.py needs.
"""
import argparse
import collections
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

import alone
import campaign

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHONS = ["3.11", "3.12", "3.10", "3.9", "3.8", "3.7", "3.13"]
TORCHES = ["torch==2.6.0", "torch==2.9.1", "torch"]
LEFT_OUT = "left out"  # the state of a name without a wheel that counts: --skip passes it over
# One release of a branch, and a GPU that it drives.
DRIVERS = {450: ("450.248.02", "T4"), 470: ("470.256.02", "T4"), 535: ("535.274.02", "L4"), 580: ("580.95.05", "L4"), 620: ("620.10", "L4")}
# What an import says that lacks a device, or a driver, and nothing else.
NO_DEVICE = re.compile(r"no (CUDA|NVIDIA|GPU)|cuInit|CUDA driver|CUDA_ERROR|NoDevice|[Nn]o CUDA-capable|found no NVIDIA|device|NVML|GPU", re.I)
LOADER = re.compile(r"cannot open shared object|undefined symbol|version `|file too short|invalid ELF|cannot read file data|ELF|No module named|"
                    r"cannot import name|object file", re.I)
OUTSIDE = re.compile(r"lib(GL|X11|EGL|Xext|SM|ICE|gomp|mpi|av\w+|glib|gthread|OpenCL|vulkan|ibverbs|python|ffi|tbb|boost|numa|nvcuvid|nvidia-encode)\b")


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)


class Room(campaign.Room):
    branch = 580

    def driver(self):
        """A folder with a libcuda.so.1 that has the functions of the branch and no device, and a libnvidia-ml.so.1."""
        folder = os.path.join(self.scratch, f"driver-{self.branch}")
        if os.path.exists(os.path.join(folder, "libcuda.so.1")):
            return folder
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(HERE, "libcuda_symbols.txt")) as f:
            names = [line.split()[0] for line in f if int(line.split()[1]) <= self.branch]
        source = os.path.join(folder, "cuda.c")
        with open(source, "w") as f:
            f.writelines(f"int {n}() {{ return 100; }}\n" for n in names if n != "cuDriverGetVersion")
            f.write("int cuDriverGetVersion(int *v) { *v = 13020; return 0; }\n")
        gcc = ["gcc", "-w", "-shared", "-fPIC", "-Wl,-soname,"]
        subprocess.run([*gcc[:-1], gcc[-1] + "libcuda.so.1", "-o", os.path.join(folder, "libcuda.so.1"), source], check=True)
        with open(source, "w") as f:  # 9: the driver is not loaded
            f.write("int nvmlInit_v2() { return 9; } int nvmlInit() { return 9; } int nvmlShutdown() { return 9; }\n"
                    'const char *nvmlErrorString() { return "Driver Not Loaded"; }\n')
        subprocess.run([*gcc[:-1], gcc[-1] + "libnvidia-ml.so.1", "-o", os.path.join(folder, "libnvidia-ml.so.1"), source], check=True)
        return folder

    def truth(self, modules, bind_now=False):
        return self.state({"imports": modules, "apart": True}, bind_now)

    def said(self, tool):
        driver, gpu = DRIVERS[self.branch]
        return self.ask(tool, {"driver": driver, "gpu": gpu})


def kind(error):
    """What an error of an import proves: broken, outside (a library of the system's), or nothing."""
    if OUTSIDE.search(error):
        return "outside"
    if LOADER.search(error):
        return "broken"
    return "device" if NO_DEVICE.search(error) else "other"


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def wheel(name, scratch, largest):
    """The newest wheel of a name that Python and this machine take, with the Python; else why there is none."""
    for python in PYTHONS:
        folder = os.path.join(scratch, "wheels", name)
        args = ["pip", "download", "--no-deps", "--only-binary", ":all:", "--python-version", python, "--implementation", "cp",
                "--progress-bar", "off", "--no-cache-dir", "-d", folder, name]
        for platform in alone.PLATFORMS:
            args += ["--platform", platform]
        said, size = download(args, largest)
        if size > largest:
            return None, f"{size:.0f} MB"
        found = glob.glob(os.path.join(folder, "*.whl"))
        if found:
            return (found[0], python) if os.path.getsize(found[0]) > 30e3 else (None, "too small for machine code")
        if python == "3.12" and "from versions: none" in said:
            break
    return None, "no wheel"


def download(args, largest):
    """Runs pip, and ends it where it says that the file is larger; returns what it said and the size in MB."""
    said, size = "", 0
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout:
            said += line
            told = re.search(r"Downloading .*\(([\d.]+) (bytes|kB|MB|GB)\)", line)
            if told:
                size = float(told[1]) * {"bytes": 1e-6, "kB": 1e-3, "MB": 1, "GB": 1e3}[told[2]]
            if size > largest:
                pip.terminate()
    return said, size


def look(path, scratch):
    """What a wheel is: its machine code, the libraries that ask for CUDA, its modules, whether it has to do with torch."""
    site = os.path.join(scratch, "look")
    shutil.rmtree(site, ignore_errors=True)
    alone.unpack(path, site)
    code, asks = alone.holds(site)
    info = glob.glob(os.path.join(site, "*.dist-info"))[0]
    with open(os.path.join(info, "METADATA"), errors="replace") as f:
        text = f.read().split("\n\n")[0]
    modules = []
    for entry in sorted(os.listdir(site)):
        name = entry.split(".")[0]
        if os.path.exists(os.path.join(site, entry, "__init__.py")) or re.search(r"\.(py|so)$", entry) and os.path.isfile(os.path.join(site, entry)):
            if name.isidentifier() and name not in ("tests", "test", "docs", "examples", "benchmarks", "scripts", "setup", "tools") and \
                    not name.startswith("lib"):
                modules.append(name)
    torch = bool(re.search(r"^Requires-Dist: torch\b(?!.*extra ==)", text, re.M))
    for root, _, files in os.walk(site):
        for name in files:
            if ".so" in name and not torch:
                out = subprocess.run(["readelf", "-dW", os.path.join(root, name)], capture_output=True, text=True, errors="replace").stdout
                torch = bool(re.search(r"NEEDED.*\[lib(torch|c10)", out))
    name = normal(re.search(r"^Name: (.*)$", text, re.M)[1].strip())
    version = re.search(r"^Version: (.*)$", text, re.M)[1].strip()
    shutil.rmtree(site)
    return {"name": name, "version": version, "code": code, "asks": asks, "modules": dict.fromkeys(modules).keys(), "torch": torch}


def carries(room, package):
    """The libraries of a package that hold code for a GPU or ask for CUDA's, below the site."""
    list_ = []
    for info in glob.glob(os.path.join(room.site(), "*.dist-info")):
        if normal(os.path.basename(info).split("-")[0]) != package:
            continue
        for line in open(os.path.join(info, "RECORD"), errors="replace"):
            name = line.split(",")[0]
            if re.search(r"\.so(\.\d+)*$", name):
                out = campaign.sh("readelf", "-SdW", os.path.join(room.site(), name)).stdout
                list_ += [name] if ".nv_fatbin" in out or alone.CUDA.search(out) else []
    return list_


def forgone(room, package, modules, torch, own):
    """Why the package goes without the GPU: of its own libraries for it none loads; nothing where one does."""
    state = room.state({"imports": (["torch"] if torch else []) + modules, "libraries": own}) if own else {}
    errors = [l["error"] for l in state.get("libraries", [])]
    if not errors or not all(errors):
        return []
    errors.sort(key=lambda e: kind(e) == "broken")  # what proves nothing first
    return [[package, "no library of its own for the GPU loads: " + errors[0]]]


def compare(room, tool, package, modules, torch, own, record, all_branches=False):
    """Asks both about one state; returns one record a branch."""
    records = []
    for branch in (sorted(DRIVERS) if all_branches else [record["branch"]]):
        room.branch = branch
        one = {**record, "branch": branch, "subjects": {}}
        state = room.truth(modules + (["torch"] if torch and "torch" not in modules else []))
        report, code = room.said(tool)
        one["exit"] = code
        one["errors"] = [[f["rule"], f["subject"][:80], f["message"][:200]] for f in report["findings"] if f["severity"] == "error"]
        one["unknown"] = [[u["rule"], u["subject"][:80], u["missing"][:120]] for u in report.get("unknown", [])]
        if "failed" in state:
            one["failed"] = state["failed"]
            records.append(one)
            continue
        for subject, names in ((package, modules), ("torch", ["torch"])):
            if subject == "torch" and not torch:
                continue
            wrong = []
            for name in names:
                m = state["modules"].get(name, {"ok": True, "checks": []})
                texts = ([m["error"]] if not m["ok"] else []) + [f"{c['name']}: {c['error']}" for c in m.get("checks", []) if c["error"]]
                wrong += [[name, t] for t in texts]
            whole = state["modules"].get("torch", {"ok": True})["ok"]  # else it is asked without torch
            wrong += forgone(room, package, modules, torch and whole, own) if subject == package else []
            one["subjects"][subject] = {"wrong": wrong, **says(report, subject)}
        records.append(one)
        room.closure = state.get("closure", [])
    return records


def says(report, subject):
    """The tool's links for the build of a name."""
    for a in report["answers"]:
        if normal(re.split(r"[ \[]", a["subject"])[0]) == subject:
            links = {l["link"]: l["state"] for l in a["links"] if l["link"] in ("python", "libraries")}
            return {"answer": a["answer"], "because": a["because"], "links": links}
    return {"answer": "", "because": [], "links": {}}


def versions(name):
    out = subprocess.run(["pip", "index", "versions", name], capture_output=True, text=True).stdout
    found = re.search(r"Available versions: (.*)", out)
    return [v.strip() for v in found[1].split(",")][::-1] if found else []


KNOWN = {}


def swaps(room, rng):
    """NVIDIA's wheels of the environment, each with a release above and below, in an order of chance."""
    list_ = []
    for info in glob.glob(os.path.join(room.site(), "nvidia_*.dist-info")):
        name, version = os.path.basename(info)[:-len(".dist-info")].split("-")[:2]
        list_ += [(normal(name), version, d) for d in ("up", "down")]
    rng.shuffle(list_)
    for name, version, direction in list_:
        if name not in KNOWN:
            KNOWN[name] = versions(name)
        at = KNOWN[name].index(version) if version in KNOWN[name] else -1
        to = at + (1 if direction == "up" else -1)
        if at >= 0 and 0 <= to < len(KNOWN[name]):
            yield name, KNOWN[name][to], direction


def install(room, *args):
    out = campaign.sh("uv", "pip", "install", "-q", "--no-cache", "--no-build", "--python", room.env, "--no-deps", *args)
    return out.stderr[-200:] if out.returncode else ""


def damage(room, how, path):
    """Removes a library, cuts it short, or puts another release's in its place; returns why that was not to be done."""
    if how == "removed":
        os.remove(path)
    elif how == "cut short":
        os.truncate(path, os.path.getsize(path) // 2)
    else:
        inside = os.path.relpath(path, room.site())
        for name, to, direction in swaps(room, random.Random(inside)):
            other = os.path.join(room.scratch, "other", f"{name}-{to}")
            if name.split("-")[1] not in inside.replace("_", "-"):
                continue
            if not os.path.exists(other):
                out = campaign.sh("uv", "pip", "install", "-q", "--no-cache", "--no-build", "--no-deps", "--target", other, "--python",
                                  os.path.join(room.env, "bin/python"), f"{name}=={to}")
                if out.returncode:
                    return out.stderr[-200:]
            found = glob.glob(os.path.join(other, os.path.dirname(inside), os.path.basename(path)))
            if found:
                os.remove(path)
                shutil.copyfile(found[0], path)
                return ""
        return "no other release of it"
    return ""


def states(room, tool, package, modules, torch, rng, counts, out, deadline):
    """All states of one environment that is built."""
    swapped, broken = counts
    e = {"id": room.id}
    room.fresh(e)
    own = carries(room, package)
    record = {"package": package, "environment": room.id, "state": "as it is", "branch": 580}
    write(out, compare(room, tool, package, modules, torch, own, record, all_branches=not torch))
    closure = [p for p in getattr(room, "closure", []) if os.path.exists(p)]
    done = 0
    for name, to, direction in swaps(room, rng):
        if done == swapped or time.time() > deadline:
            break
        room.fresh(e)
        if heavy(name, to) or install(room, f"{name}=={to}"):
            continue
        done += 1
        branch = rng.choice([535, 580])
        one = {**record, "state": f"{name} {direction} to {to}", "branch": branch}
        write(out, compare(room, tool, package, modules, torch, own, one))
    hows = ["removed", "cut short", "replaced", "removed", "replaced", "cut short"]
    rng.shuffle(closure)
    nvidia = [p for p in closure if "/nvidia/" in p]
    done = 0
    for i, path in enumerate(closure[:40]):
        if done == broken or time.time() > deadline:
            break
        how = hows[done % len(hows)]
        if how == "replaced":
            if not nvidia:
                how = "removed"
            else:
                path = nvidia[done % len(nvidia)]
        room.fresh(e)
        if damage(room, how, path):
            done += 1
            continue
        done += 1
        one = {**record, "state": f"{os.path.relpath(path, room.site())} {how}", "branch": rng.choice([470, 535, 580])}
        write(out, compare(room, tool, package, modules, torch, own, one))


def heavy(name, version):
    """Whether a wheel is too large to be fetched for one state."""
    return name.startswith(("nvidia-cudnn-cu12", "nvidia-cublas-cu12", "nvidia-cudnn-cu11", "nvidia-cublas-cu11"))


def write(out, records):
    with open(out, "a") as f:
        for r in records:
            f.write(json.dumps(r) + "\n")


def run(a):
    rng = random.Random(a.seed)
    with open(os.path.join(HERE, "pool.txt")) as f:
        pool = f.read().split()
    rng.shuffle(pool)
    skip = {json.loads(line)["package"] for path in filter(None, a.skip.split(",")) for line in open(path)}
    deadline, drawn = time.time() + a.minutes * 60, 0
    room = Room(a.scratch, "")
    for name in pool:
        if drawn == a.packages or time.time() > deadline:
            break
        if a.only and normal(name) not in a.only.split(",") or normal(name) in skip or normal(name) == "torch" or name.startswith(("nvidia-", "cuda-")):
            continue
        if shutil.disk_usage(a.scratch).free < 15e9:
            say("the disk is nearly full")
            break
        try:
            path, python = wheel(name, a.scratch, a.largest_mb)
            p = look(path, a.scratch) if path else None
        except Exception as err:  # noqa: B902 - a wheel that cannot be read is none
            path, python, p = None, f"{type(err).__name__}: {err}"[:100], None
        if not p or not p["code"] + p["asks"] or not p["modules"]:
            why = python if not path else "no CUDA code, or nothing to import"
            say(name, "left out:", why)
            write(a.out, [{"package": normal(name), "environment": "", "state": LEFT_OUT, "failed": why}])
            if path:
                os.remove(path)
            continue
        modules, installed = list(p["modules"])[:3], False
        say(f"{drawn + 1}. {p['name']} {p['version']} Python {python} code {p['code']} asks {p['asks']} torch {p['torch']} modules {modules}")
        plans = [("alone", [path])]
        if python == "3.11":
            chosen = random.Random(f"{a.seed} {name}").sample(TORCHES, a.torches if p["torch"] else 1)
            plans += [("beside " + t, [path, t]) for t in chosen]
        for where, wanted in plans:
            if time.time() > deadline:
                break
            mine = random.Random(f"{a.seed} {name} {where}")
            room.id = f"{p['name']} {where}"
            e = {"id": room.id, "python": python, "install": wanted, "imports": modules}
            failed = room.build(e, ask=False)
            how = "as resolved"
            if failed and len(wanted) > 1:
                how = "--no-deps"
                failed = room.build({**e, "install": [wanted[1], "numpy"]}, ask=False) or \
                    campaign.sh("uv", "pip", "install", "-q", "--no-build", "--no-deps", "--python", room.base(room.id), path).stderr[-200:]
            if failed:
                write(a.out, [{"package": p["name"], "environment": room.id, "state": "not installed", "failed": failed[-300:]}])
                say("   not installed", failed[-150:].replace("\n", " "))
            else:
                torch = bool(glob.glob(os.path.join(room.base(room.id), "lib/python3*/site-packages/torch")))
                installed = True
                say("  ", where, how)
                try:
                    if not a.install_only:
                        states(room, a.tool, p["name"], modules, torch, mine, (2, 6) if where == "alone" else (1, 2), a.out, deadline)
                except Exception as err:  # noqa: B902 - one environment must not end the draw
                    say("   ended:", type(err).__name__, str(err)[:200])
            room.unmount()
            if not (a.keep or a.install_only):
                shutil.rmtree(room.base(room.id), ignore_errors=True)
        drawn += installed  # what cannot be installed here says nothing, and the next name takes its place
        shutil.rmtree(os.path.join(a.scratch, "other"), ignore_errors=True)
    room.unmount()
    report([a.out])


def ofDriver(text, record):
    """Whether an error is that the driver is older than what it runs, which is its link's to say, and said."""
    return re.search(r"undefined symbol: cu[A-Z]", text) and any(e[0] == "driver-too-old" for e in record["errors"])


def judged(records):
    """Each state and subject with what it proves and what the tool said of it."""
    base = {}
    for r in records:
        if r["state"] == "as it is" and "subjects" in r:
            for s, v in r["subjects"].items():
                base.setdefault((r["environment"], s), set()).update(t for _, t in v["wrong"])
    for r in records:
        for s, v in r.get("subjects", {}).items():
            known = base.get((r["environment"], s), set())
            fresh = [t for _, t in v["wrong"] if (r["state"] == "as it is" or t not in known) and not ofDriver(t, r)]
            kinds = {kind(t) for t in fresh}
            old = {kind(t) for t in known} if r["state"] != "as it is" else set()
            if "broken" in kinds or r["state"] != "as it is" and "other" in kinds:
                truth = "broken"
            elif kinds or known and r["state"] != "as it is":
                truth = "broken" if "broken" in old else "unproven"
            else:
                truth = "works"
            links, torch = list(v["links"].values()), r["subjects"].get("torch")
            if truth == v["answer"] == "broken" and torch and torch["wrong"]:  # what dies with torch is said to, where torch is
                links += torch["links"].values()
            if truth == v["answer"] == "broken" and {"extension-mismatch", "not-importable"} & set(v["because"]):
                links.append("broken")  # by a package that it requires
            tool = "silent" if not v["answer"] else "broken" if "broken" in links else "unknown" if "unseen" in links else "works"
            if tool == "silent" and r["exit"] != 0:
                tool = "other"  # the tool does not pass the environment, by another subject
            yield r, s, truth, tool, fresh


def report(paths):
    records = [json.loads(line) for path in paths for line in open(path)]
    records = [r for r in records if r["state"] != LEFT_OUT]
    table, rows, seen = collections.Counter(), [], collections.defaultdict(set)
    for r, s, truth, tool, fresh in judged(records):
        table[truth, tool] += 1
        if truth == "broken" and tool in ("works", "silent"):
            seen["false works"].add(r["package"])
            rows.append(("MISSED " + tool, r, s, fresh))
        if truth == "works" and tool == "broken":
            seen["false error"].add(r["package"])
            rows.append(("ALARM", r, s, r["errors"][:2]))
    packages = {r["package"] for r in records}
    print(f"{len(packages)} packages, {len({r['environment'] for r in records})} environments, {len(records)} states and drivers")
    for (truth, tool), n in sorted(table.items()):
        print(f"  {truth:9} {tool:8} {n}")
    for what in ("false works", "false error"):
        print(f"{what}: {len(seen[what])} packages: {' '.join(sorted(seen[what]))}")
    for what, r, s, why in rows:
        print(f"{what} {r['environment']} | {r['state']} | {r['branch']} | {s} | exit {r['exit']} | {str(why)[:260]}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("verb", choices=["run", "report"])
    p.add_argument("files", nargs="*")
    p.add_argument("--tool")
    p.add_argument("--scratch")
    p.add_argument("--out")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--packages", type=int, default=30)
    p.add_argument("--minutes", type=float, default=45)
    p.add_argument("--largest-mb", type=float, default=200)
    p.add_argument("--torches", type=int, default=len(TORCHES), help="beside how many of them a package of torch's is put")
    p.add_argument("--skip", default="")
    p.add_argument("--only", default="")
    p.add_argument("--keep", action="store_true")
    p.add_argument("--install-only", action="store_true", help="install, keep, and judge nothing: a later run with --only finds it there")
    a = p.parse_args()
    if a.verb == "report":
        return report(a.files)
    a.scratch, a.out = os.path.abspath(a.scratch), os.path.abspath(a.out)
    os.makedirs(a.scratch, exist_ok=True)
    return run(a)


if __name__ == "__main__":
    sys.exit(main())
