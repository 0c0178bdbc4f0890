"""Builds real environments, damages them, asks an oracle and the tool, and writes down where the two differ.

    campaign.py run --tool BINARY --scratch DIR --out RESULTS.jsonl [--env ID,...] [--pins N] [--no-damage] [--limit-gb N]
    campaign.py report RESULTS.jsonl > table.md

Needs root (it mounts overlays, so that a damage never reaches the environment below or uv's cache), gcc, binutils and
uv. Nothing here uses a GPU: what it takes to be broken is proven by the interpreter, by the loader, by machine code or
by NVIDIA's published floors.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
FLOORS = {"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}
# The first driver branch that no longer drives a GPU older than this compute capability (Turing), by NVIDIA's
# announcement for branch 590.
DROPPED = ("590", (7, 5))
PYTHONS = os.environ.get("CAMPAIGN_PYTHONS", "/root/.pyenv/versions/{}.*/bin/python")
TIMEOUT = 420
# The file whose machine code decides for a module; torch and TensorFlow state theirs themselves.
CODE = {
    "xgboost": "xgboost/lib/libxgboost.so", "ctranslate2": "ctranslate2.libs/libctranslate2*.so*",
    "faiss": "faiss/_swigfaiss.*so", "onnxruntime": "onnxruntime/capi/libonnxruntime_providers_cuda.so",
    "xformers": "xformers/_C*.so", "torchvision": "torchvision/_C*.so", "vllm": "vllm/_C*.so",
    "bitsandbytes": "bitsandbytes/libbitsandbytes_cuda126.so", "sgl_kernel": "sgl_kernel/sm100/common_ops*.so",
}
# How the tool's subjects are named, where that is not the module's own name.
NAMES = {"numba.cuda": ("numba",), "sgl_kernel": ("sgl-kernel", "sglang-kernel"), "sglang": (), "paddle": ("paddle", "paddlepaddle"), "faster_whisper": (),
         "numpy": (), "sklearn": (), "pynvml": (), "nvitop": (), "numba": (), "torchcodec": ("torchcodec",),
         "rmm": ("rmm", "librmm"), "cudf": ("cudf", "libcudf")}
GO_ON = ("xgboost", "ctranslate2")  # without a GPU they go on with the CPU: a warning and exit 0 are right
WORTH_A_LOOK = ("missed", "missed-here", "quiet", "alarm", "misplaced", "unknown", "silent")
NOT_CUDA = re.compile(r"libav(util|codec|format)|FFmpeg")


def version(text):
    return tuple(int(n) for n in re.findall(r"\d+", text))


def sh(*args, **kw):
    return subprocess.run(args, capture_output=True, text=True, errors="replace", **kw)


class Room:
    """One scratch place: an environment as it was installed (base) and an overlay of it that is damaged (env)."""

    def __init__(self, scratch, cuobjdump):
        self.scratch, self.env = scratch, os.path.join(scratch, "env")
        self.cuobjdump = cuobjdump
        self.mounted = os.path.ismount(self.env)
        os.makedirs(scratch, exist_ok=True)

    def base(self, name):
        return os.path.join(self.scratch, "base", name)

    def mount(self, lower, upper):
        self.unmount()
        work = os.path.join(self.scratch, "work")
        empty = os.path.join(self.scratch, "empty")
        for d in (work, empty, upper, self.env):
            os.makedirs(d, exist_ok=True)
        options = f"lowerdir={lower or empty},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, self.env], check=True)
        self.mounted = True

    def unmount(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.env], check=True)
        self.mounted = False
        shutil.rmtree(os.path.join(self.scratch, "work"), ignore_errors=True)

    def build(self, e, ask=True):
        base = self.base(e["id"])
        if os.path.exists(os.path.join(base, ".whole")):
            return ""
        shutil.rmtree(base, ignore_errors=True)
        python = sorted(glob.glob(PYTHONS.format(e["python"])))[0]
        hard = {**os.environ, "UV_LINK_MODE": "hardlink"}  # no damage reaches the cache: it lands in the overlay's upper layer
        out = sh("uv", "venv", "-q", "--allow-existing", "--python", python, base)
        if not out.returncode:
            out = sh("uv", "pip", "install", "-q", "--no-build", "--python", base, *e["install"], env=hard)
        if out.returncode:
            shutil.rmtree(base, ignore_errors=True)
            return out.stderr[-500:] or "uv failed"
        if ask:
            self.mount(None, base)
            self.state(e)  # compiles the modules once, so that every later import is quick
            self.unmount()
        open(os.path.join(base, ".whole"), "w").close()
        return ""

    def fresh(self, e):
        upper = os.path.join(self.scratch, "upper")
        self.unmount()
        shutil.rmtree(upper, ignore_errors=True)
        self.mount(self.base(e["id"]), upper)
        self.settings, self.shown, self.places = {}, self.env, {}

    def site(self):
        return sorted(glob.glob(os.path.join(self.env, "lib/python3*/site-packages")))[0]

    def answer(self, e, damage, bind_now=False):
        """Where the interpreter's answer for one state is kept."""
        name = f"{e['id']}.{damage['id'] if damage else 'healthy'}{'.now' if bind_now else ''}.json"
        return os.path.join(self.scratch, "states", name)

    def known(self, e, damage, bind_now=False):
        """The interpreter's answer, asked once and kept for later runs: only the tool changes between them."""
        path = self.answer(e, damage, bind_now)
        if os.path.exists(path):
            return json.load(open(path))
        e = {**e, **{k: damage[k] for k in ("imports",) if damage and k in damage}}
        state = self.state(e, bind_now)
        if "failed" not in state:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                json.dump(state, f)
        return state

    def state(self, e, bind_now=False):
        """What the interpreter says of every module, in one process, as a program would import them.

        A module that ends the process (an abort, a signal) is broken; the others are asked again without it. Where an
        environment says `apart`, each module has a process of its own: what one framework loaded would serve the next.
        """
        answer = {"modules": {}, "libraries": [], "mapped": [], "closure": [], "sources": []}
        modules = list(e["imports"])
        groups = [[m] for m in modules] if e.get("apart") else [modules]
        while groups:
            group = groups.pop()
            state, at = self.once(e, group, bind_now) if group else ({}, "")
            if at in group:
                answer["modules"][at] = {"ok": False, "error": "the process ended: " + state["crashed"], "facts": {}, "checks": []}
                groups.append([m for m in group if m != at])
            elif "crashed" in state or "failed" in state:
                return state
            for key, value in state.items():
                if key == "modules":
                    answer[key].update(value)
                elif key in ("closure", "sources"):
                    answer[key] += [path for path in value if path not in answer[key]]
                elif key in answer:
                    answer[key] = value
        return answer

    def once(self, e, modules, bind_now):
        """The answer of one process, and the module that it was at when it ended without one."""
        settings = getattr(self, "settings", {})
        env = {"PATH": "/usr/bin:/bin", "HOME": os.path.join(self.scratch, "home"), "RAPIDS_NO_INITIALIZE": "1",
               "TF_CPP_MIN_LOG_LEVEL": "2", **settings}
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, [settings.get("LD_LIBRARY_PATH"), self.driver()]))
        if bind_now:
            env["LD_BIND_NOW"] = "1"
        python = os.path.join(getattr(self, "shown", self.env), "bin", "python")
        args = [python, os.path.join(HERE, "oracle.py"), self.site(), ",".join(modules), ",".join(e.get("libraries", []))]
        try:
            out = sh(*args, env=env, cwd=self.scratch, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return {"failed": "the interpreter did not answer in time"}, ""
        except OSError as err:
            return {"crashed": str(err)}, ""
        line = [l for l in out.stdout.splitlines() if l.startswith("ORACLE")]
        if line:
            return json.loads(line[-1][len("ORACLE"):]), ""
        at = [l[3:] for l in out.stdout.splitlines() if l.startswith("AT ")]
        return {"crashed": f"exit {out.returncode}: {out.stderr[-300:]}"}, at[-1] if at else ""

    def driver(self):
        """A folder with a libcuda.so.1 that has every symbol a library of the environment asks for and no device."""
        folder = os.path.join(self.scratch, "driver")
        if not os.path.exists(os.path.join(folder, "libcuda.so.1")):
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(HERE, "libcuda_symbols.txt")) as f:
                names = [line.split()[0] for line in f if not line.startswith("cuDriverGetVersion ")]
            source = os.path.join(folder, "cuda.c")
            with open(source, "w") as f:
                f.write("int cuDriverGetVersion(int *v) { *v = 13020; return 0; }\n")
                f.writelines(f"int {n}() {{ return 100; }}\n" for n in names)
            library = os.path.join(folder, "libcuda.so.1")
            subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, source], check=True)
            subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o",
                            os.path.join(folder, "libnvidia-ml.so.1"), "-x", "c", "/dev/null"], check=True)
        return folder

    def ask(self, tool, machine):
        """What the tool says for one machine."""
        args = [tool, "doctor", "--env", self.shown, "-o", "json", "--timeout", "60s"]
        for key in ("driver", "gpu", "instance"):
            if machine.get(key):
                args += ["--" + key, machine[key]]
        env = {"PATH": "/usr/bin:/bin", "HOME": os.path.join(self.scratch, "home"), **self.settings}
        out = sh(*args, env=env, cwd=self.scratch, timeout=120)
        try:
            return json.loads(out.stdout), out.returncode
        except ValueError:
            return {"outcome": "no JSON: " + (out.stderr or out.stdout)[:300], "answers": [], "findings": []}, out.returncode

    def code(self, module):
        """The architectures in the file that decides for a module, or nothing; read once for a file of this size."""
        if module == "jax":
            return "jit"
        found = sorted(glob.glob(os.path.join(self.site(), CODE.get(module, "-none-"))))
        if not found or not self.cuobjdump:
            return ""
        size = os.path.getsize(found[0])
        kept = os.path.join(self.scratch, "states", f"code.{os.path.basename(found[0])}.{size}")
        if os.path.exists(kept):
            return open(kept).read()
        names = set()
        for flag, prefix in (("--list-elf", "sm_"), ("--list-ptx", "compute_")):
            try:
                out = sh(self.cuobjdump, flag, found[0], timeout=300).stdout
            except subprocess.TimeoutExpired:
                return ""
            names |= {prefix + n for n in re.findall(r"\.sm_(\w+)\.", out)}
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open(kept, "w") as f:
            f.write(" ".join(sorted(names)))
        return " ".join(sorted(names))

    # ---- damages: one method a verb ----

    def damage(self, steps):
        for verb, *args in steps:
            error = getattr(self, "do_" + verb.replace("-", "_"))(*args)
            if error:
                return f"{verb} {' '.join(args)}: {error}"
        return ""

    def files(self, pattern):
        return sorted(glob.glob(os.path.join(self.site(), pattern)))

    def do_delete(self, pattern):
        for path in self.files(pattern):
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)

    def do_empty(self, pattern):
        for path in self.files(pattern):
            open(path, "w").close()

    def do_truncate(self, pattern, size):
        for path in self.files(pattern):
            os.truncate(path, int(size))

    def do_chmod(self, pattern, mode):
        for path in self.files(pattern):
            os.chmod(path, int(mode, 8))

    def do_machine(self, pattern, number):
        for path in self.files(pattern):
            with open(path, "r+b") as f:
                f.seek(18)
                f.write(int(number).to_bytes(2, "little"))

    def do_dangle(self, pattern):
        for path in self.files(pattern):
            os.remove(path)
            os.symlink("/nowhere/" + os.path.basename(path), path)

    def do_stub(self, pattern):
        for path in self.files(pattern):
            os.remove(path)
            subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname," + os.path.basename(path), "-o", path, "-x", "c", "/dev/null"],
                           check=True)

    def do_mkstub(self, path):
        path = os.path.join(self.env, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname," + os.path.basename(path), "-o", path, "-x", "c", "/dev/null"],
                       check=True)
        self.places["stubs"] = os.path.dirname(path)

    def do_copy(self, pattern, name):
        for path in self.files(pattern):
            goal = os.path.join(self.site(), name)
            os.makedirs(os.path.dirname(goal), exist_ok=True)
            shutil.copytree(path, goal) if os.path.isdir(path) else shutil.copy2(path, goal)

    def do_write(self, path, text):
        path = os.path.normpath(os.path.join(self.site(), path))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.remove(path)
        with open(path, "w") as f:
            f.write(self.fill(text))

    def fill(self, text):
        for name, value in {"env": self.shown, "site": self.site(), **self.places}.items():
            text = text.replace("{" + name + "}", value)
        return text

    def uv(self, *args):
        out = sh("uv", *args, env={**os.environ, "VIRTUAL_ENV": self.env})
        return out.stderr[-300:] if out.returncode else ""

    def do_install(self, *args):
        return self.uv("pip", "install", "-q", "--no-build", "--python", self.env, *args)

    def do_uninstall(self, package):
        self.uv("pip", "uninstall", "-q", "--python", self.env, package)

    def do_target(self, name, *args):
        folder = os.path.join(self.env, name)
        self.places[name] = folder
        self.settings["PYTHONPATH"] = folder
        return self.uv("pip", "install", "-q", "--no-build", "--python", self.env, "--target", folder, *args)

    def do_target_file(self, path, text):
        path = os.path.join(self.env, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        self.settings["PYTHONPATH"] = os.path.dirname(path)

    def do_set(self, name, value):
        if not value:
            self.settings.pop(name, None)
        else:
            self.settings[name] = self.fill(value)

    def do_move(self):
        goal = os.path.join(self.env, "moved")
        os.makedirs(goal)
        for name in ("bin", "lib", "pyvenv.cfg"):
            shutil.move(os.path.join(self.env, name), goal)
        os.symlink("moved/lib", os.path.join(self.env, "lib"))
        self.shown = goal

    def do_link(self):
        self.shown = os.path.join(self.env, "behind")
        os.symlink(".", self.shown)

    def do_system_site(self):
        path = os.path.join(self.env, "pyvenv.cfg")
        text = open(path).read().replace("include-system-site-packages = false", "include-system-site-packages = true")
        os.remove(path)
        with open(path, "w") as f:
            f.write(text)

    def do_user(self, *args):
        base = os.path.join(self.env, "userbase")
        self.settings["PYTHONUSERBASE"] = base
        short = os.path.basename(os.path.dirname(self.site()))
        return self.uv("pip", "install", "-q", "--no-build", "--python", self.env, "--target",
                       os.path.join(base, "lib", short, "site-packages"), *args)

    def do_rename_abi(self, old, new):
        for root, _, names in os.walk(self.site()):
            for name in names:
                if f"cpython-{old}" in name and name.endswith(".so"):
                    os.rename(os.path.join(root, name), os.path.join(root, name.replace(f"cpython-{old}", f"cpython-{new}")))

    def do_interpreter(self, which):
        path = os.path.join(self.env, "bin/python")
        os.remove(path)
        os.symlink("/nowhere/python3.12" if which == "gone" else sorted(glob.glob(PYTHONS.format(which)))[0], path)


# ---- what is proven ----

def loads(state, healthy, now, now_healthy, module):
    """The state of one module by the interpreter: (works, cpu-only, broken, unprovable) and the proof."""
    if "crashed" in state:
        return "broken", state["crashed"]
    if "failed" in state:
        return "unprovable", state["failed"]
    m = state["modules"][module]
    if not m["ok"]:
        if NOT_CUDA.search(m["error"]):
            return "unprovable", "FFmpeg of the system is missing: " + m["error"][:120]
        if "0 active drivers" in m["error"] and not any(c["error"] for c in m["checks"]):
            return "unprovable", "Triton asks for a GPU on import: " + m["error"]
        return "broken", "; ".join(c["error"] for c in m["checks"] if c["error"])[:400] or m["error"]
    errors = [f"{c['name']}: {c['error']}" for c in m["checks"] if c["error"]]
    if errors:
        return "broken", "; ".join(errors)[:400]
    if now and now.get("modules") and now_healthy.get("modules"):
        mine, before = now["modules"][module], now_healthy["modules"].get(module, {"ok": False})
        failed = [c["error"] for c in mine["checks"] if c["error"]]
        if before["ok"] and not any(c["error"] for c in before["checks"]) and (not mine["ok"] or failed):
            return "broken", "with every symbol bound: " + (mine["error"] or failed[0])
    if m["facts"].get("cpu_only"):
        return "cpu-only", "the module itself says that it has no CUDA"
    return "works", "loads, and opens what it opens when a GPU is used"


def carries(arch, cc):
    """Whether machine code for this compute capability is there: yes, no, or through PTX."""
    have = version(cc)
    ptx = False
    for name in arch.split():
        match = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", name)
        if not match:
            continue
        kind, major, minor, suffix = match.group(1), int(match.group(2)), int(match.group(3)), match.group(4)
        if kind == "sm" and ((major, minor) == have if suffix == "a" else major == have[0] and minor <= have[1]):
            return "yes"
        if kind == "compute" and not suffix and (major, minor) <= have:
            ptx = True
    return "ptx" if ptx else "no"


def on_machine(loaded, why, family, arch, machine, facts):
    """The proof for one machine, from what loads, the floors and the machine code."""
    if loaded in ("broken", "cpu-only"):
        return loaded, why
    if family == "cpu":
        return "unprovable", "uses no CUDA: the machine does not matter"
    if machine.get("arch") == "aarch64":
        return "broken", "x86-64 files on an aarch64 machine"
    if not machine["driver"]:
        return "unprovable", "neither driver nor GPU is named"
    driver, cc = version(machine["driver"]), version(machine["cc"])
    if driver >= version(DROPPED[0]) and cc < DROPPED[1]:
        return "broken", f"driver {machine['driver']} does not drive {machine['cc']}"
    if family in FLOORS and driver < version(FLOORS[family]):
        return "broken", f"CUDA {family} needs driver {FLOORS[family]}"
    for library, verdict in (("cudnn", "broken"), ("nccl", "unprovable")):  # NCCL is used where there are several GPUs
        theirs = facts.get(library + "_family")
        if theirs and driver < version(FLOORS[theirs]):
            return verdict, f"its {library} is of CUDA {theirs}, which needs driver {FLOORS[theirs]}"
    if loaded == "unprovable":
        return loaded, why
    if not arch:
        return "unprovable", "loads; its machine code was not read"
    if arch == "jit":  # XLA compiles for the GPU it finds; what every release of today supports is Turing to Hopper
        known = (7, 5) <= cc <= (9, 0)
        return ("healthy", "loads, compiles itself for this GPU") if known else ("unprovable", "compiles itself for the GPU")
    code = carries(arch, machine["cc"])
    if code == "no":
        return "broken", f"no machine code for {machine['cc']} among {arch}"
    if code == "ptx":
        return "unprovable", "runs through PTX, if the driver takes its version"
    return "healthy", "loads, driver and machine code suffice"


def family_of(env, facts):
    cuda = str(facts.get("cuda") or "")
    if re.fullmatch(r"1[123]\d{3}", cuda) or re.match(r"1[123](\.|$)", cuda):
        return cuda[:2]
    return env["cuda"]


def judged(report, module):
    """The tool's answer for one module: the worst among the subjects that are named so; and the rules behind it.

    Answers that do not count are those of other environments that the tool came across.
    """
    order = ["broken", "unknown", "works-cpu-only", "works-forward-compat", "works-minor-version", "works"]
    prefixes = NAMES.get(module, (module,))
    found, rules = [], []
    for a in report.get("answers") or []:
        if not a.get("counts", True):
            continue
        name = a["subject"].split()[0].lower().replace("_", "-")
        if any(name == p or name.startswith(p + "-") for p in prefixes):
            found.append(a["answer"])
            rules += a.get("because") or []
    found.sort(key=lambda a: order.index(a) if a in order else 0)
    return (found[0] if found else "silent"), sorted(set(rules))


def compare(proof, answer, outcome):
    """How the tool's answer stands to the proof."""
    if proof == "unprovable":
        return "unprovable"
    said_bad = answer == "broken"
    if proof == "broken":
        if said_bad or answer == "works-cpu-only":
            return "quiet" if outcome == "compatible" else "hit"
        if answer == "unknown":
            return "unknown"
        if answer == "silent":
            return {"incompatible": "hit-elsewhere", "inconclusive": "unknown"}.get(outcome, "missed")
        return "missed" if outcome == "compatible" else "missed-here"
    if proof == "cpu-only":
        return {"works-cpu-only": "agree", "unknown": "unknown", "silent": "silent", "broken": "hit"}.get(answer, "missed")
    return {"broken": "alarm", "unknown": "unknown", "silent": "silent", "works-cpu-only": "alarm"}.get(answer, "agree")


def wrong_facts(report, state):
    """Versions the tool reads otherwise than the interpreter."""
    wrong = []
    for place in (report.get("facts") or {}).get("environments") or []:
        if not place.get("named"):
            continue
        for b in place.get("builds") or []:
            m = (state.get("modules") or {}).get(b["name"])
            if not m or not m["ok"]:
                continue
            facts = m["facts"]
            if facts.get("version") and b["version"] and b["version"].split("+")[0] != str(facts["version"]).split("+")[0]:
                wrong.append(f"{b['name']} version: tool {b['version']}, interpreter {facts['version']}")
            cuda = str(facts.get("cuda") or "")
            if re.match(r"\d+\.\d+$", cuda) and b.get("cuda") and not cuda.startswith(b["cuda"].split(".")[0] + "."):
                wrong.append(f"{b['name']} CUDA: tool {b['cuda']}, interpreter {cuda}")
            cudnn = facts.get("cudnn")  # the one that is loaded; a build's own "cudnn" is what it was built with
            taken = next((t["version"] for t in b.get("taken") or [] if t["name"].startswith("libcudnn.so")), "")
            if isinstance(cudnn, int) and taken:
                said = version(taken)[:3]
                number = said[0] * (10000 if said[0] >= 9 else 1000) + said[1] * 100 + said[2]
                if number != cudnn:
                    wrong.append(f"{b['name']} cuDNN: tool {taken}, interpreter {cudnn}")
            arch = {a for a in str(facts.get("arch") or "").split() if a.startswith("sm_")}
            if b["name"] == "torch" and b.get("sass") and arch and not arch <= set(b["sass"]):
                wrong.append(f"torch machine code: tool {b['sass']}, interpreter {sorted(arch)}")
    return wrong


# ---- one environment, one damage ----

def kept(room, args, e, damage):
    """Reports whether former rows prove every triple of this state (--proofs).

    An answer of the interpreter that is kept in SCRATCH/states is better: facts are compared with it, too.
    """
    if os.path.exists(room.answer(e, damage)) and os.path.exists(room.answer(e, None)):
        return False
    machines = [m["id"] for m in args.machines if not damage or m.get("damaged")]
    return all((e["id"], damage["id"] if damage else "", m) in args.proofs for m in machines)


def prove(e, damage, machine, state, now, asked):
    """What is proven of every module, and of every library that no longer loads, for one machine."""
    proven = {}
    for module in (damage or {}).get("imports", e["imports"]):
        loaded, why = loads(state, asked["healthy"], now, asked["now"], module)
        facts = ((state.get("modules") or {}).get(module) or {}).get("facts") or {}
        arch = facts.get("arch") or asked["archs"].get(module, "")
        proof, why = on_machine(loaded, why, family_of(e, facts), arch, machine, facts)
        if module not in NAMES or NAMES[module]:
            proven[module] = {"loaded": loaded, "proof": proof, "why": why}
    before = {l["name"]: l["error"] for l in asked["healthy"].get("libraries") or []}
    for library in state.get("libraries") or []:
        if library["error"] and not before.get(library["name"]):
            proven["library " + library["name"]] = {"loaded": "broken", "proof": "broken", "why": library["error"]}
    return proven


def subject(name, proven, report):
    """One module or library: what is proven of it, what the tool says, and how the two stand."""
    if name.startswith("library "):
        found = {"incompatible": "hit", "inconclusive": "unknown"}.get(report["outcome"], "missed")
        return {**proven, "answer": "silent", "rules": [], "class": found}
    answer, rules = judged(report, name)
    found = compare(proven["proof"], answer, report["outcome"])
    if found == "quiet" and name not in GO_ON:
        found = "missed"
    return {**proven, "answer": answer, "rules": rules, "class": found}


def triple(room, args, e, damage, asked, out):
    state, now, wrong = {}, None, None
    if not kept(room, args, e, damage):
        state = room.known(e, damage) if damage else asked["healthy"]
        swapped = damage and any(s[0] in ("install", "target", "stub", "set") for s in damage["steps"])
        now = room.known(e, damage, bind_now=True) if swapped and "modules" in state else None
    for machine in args.machines:
        if damage and not machine.get("damaged"):
            continue  # its driver or GPU breaks the healthy environment already: it proves nothing of the damage
        report, code = room.ask(args.tool, machine)
        if wrong is None and state:
            wrong = wrong_facts(report, state)
        key = (e["id"], damage["id"] if damage else "", machine["id"])
        proven = prove(e, damage, machine, state, now, asked) if state else args.proofs[key]
        subjects = {name: subject(name, p, report) for name, p in proven.items()}
        line = {"env": e["id"], "damage": key[1], "machine": machine["id"], "outcome": report["outcome"],
                "exit": code, "subjects": subjects, "wrong": wrong, "expect": (damage or e)["expect"], "proofs": "asked" if state else "kept",
                "silent": not any(a.get("counts", True) for a in report.get("answers") or [])}
        out.write(json.dumps(line) + "\n")
        out.flush()
        if args.reports and (code and not any(s["proof"] in ("broken", "cpu-only") for s in subjects.values()) or
                             any(s["class"] in WORTH_A_LOOK for s in subjects.values())):
            keep(args.reports, line, report)
    if args.pins and (not args.follow or f"{key[0]}/{key[1] or 'healthy'}" in args.follow.split(",")):
        follow(room, args, e, damage, out)


def read_proofs(paths):
    """The proofs of former runs, by triple; a later file counts."""
    proofs = {}
    for path in paths:
        for line in open(path):
            r = json.loads(line)
            if "subjects" in r:
                proofs[r["env"], r["damage"], r["machine"]] = {
                    name: {k: s[k] for k in ("loaded", "proof", "why")} for name, s in r["subjects"].items()}
    return proofs


def keep(folder, line, report):
    """Keeps the tool's report of a triple, so that what it missed can be looked into when the environment is gone."""
    os.makedirs(folder, exist_ok=True)
    name = f"{line['env']}.{line['damage'] or 'healthy'}.{line['machine']}.json"
    with open(os.path.join(folder, name), "w") as f:
        json.dump(report, f)


def follow(room, args, e, damage, out):
    """Runs the first pin of the first finding that has a command for uv, and asks the oracle again."""
    machine = next(m for m in args.machines if m["id"] == args.pin_machine)
    report, _ = room.ask(args.tool, machine)
    for finding in report.get("findings") or []:
        pins = [p for p in finding.get("pins") or [] if (p.get("commands") or {}).get("uv")]
        if not pins or finding["severity"] == "note" or (" in " in finding["subject"] and room.shown not in finding["subject"]):
            continue
        command = pins[0]["commands"]["uv"]
        if args.followed[finding["rule"]] >= args.pins:
            return
        if "index-url" in command or re.search(r"==[\d.]+\+\w", command):
            return  # another index has it
        line = {"pin": command, "rule": finding["rule"], "env": e["id"], "damage": damage["id"] if damage else "", "machine": machine["id"]}
        line["followed"] = command
        ran = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=room.scratch,
                             env={**os.environ, "VIRTUAL_ENV": room.env, "UV_NO_BUILD": "1"})
        line["ran"] = "yes" if not ran.returncode else ran.stderr[-300:]
        e = {**e, "imports": (damage or {}).get("imports", e["imports"])}
        state = room.state(e)
        line["after"] = {m: loads(state, None, None, None, m) for m in e["imports"]}
        line["tool_after"] = room.ask(args.tool, machine)[0]["outcome"]
        out.write(json.dumps(line) + "\n")
        out.flush()
        args.followed[finding["rule"]] += 1
        return


def run(args):
    room = Room(os.path.abspath(args.scratch), args.cuobjdump)
    environments = tomllib.load(open(os.path.join(HERE, "environments.toml"), "rb"))["environment"]
    damages = tomllib.load(open(os.path.join(HERE, "damages.toml"), "rb"))["damage"]
    args.machines = tomllib.load(open(os.path.join(HERE, "machines.toml"), "rb"))["machine"]
    wanted = args.env.split(",") if args.env else [e["id"] for e in environments]
    out = open(args.out, "a")
    args.proofs = read_proofs(args.proofs.split(",") if args.proofs else [])
    args.followed = collections.Counter(json.loads(l)["rule"] for l in open(args.out) if '"pin"' in l)
    for name in wanted:
        e = next(e for e in environments if e["id"] == name)
        mine = [] if args.no_damage else [
            d for d in damages if (name in d["to"] or set(e["tags"]) & set(d["to"])) and
            (not args.damage or d["id"] in args.damage.split(","))]
        proven = all(kept(room, args, e, d) for d in [None, *mine])
        start = time.time()
        error = room.build(e, ask=not proven and not os.path.exists(room.answer(e, None)))
        if error:
            out.write(json.dumps({"env": name, "build": error}) + "\n")
            out.flush()
            continue
        print(f"{name}: built in {time.time() - start:.0f} s", flush=True)
        room.fresh(e)
        asked = {}
        if not proven:
            asked = {"healthy": room.known(e, None), "now": room.known(e, None, bind_now=True),
                     "archs": {m: room.code(m) for m in e["imports"]}}
        triple(room, args, e, None, asked, out)
        for damage in mine:
            start = time.time()
            room.fresh(e)
            error = room.damage(damage["steps"])
            if error:
                out.write(json.dumps({"env": name, "damage": damage["id"], "build": error}) + "\n")
                out.flush()
                continue
            triple(room, args, e, damage, asked, out)
            print(f"  {damage['id']}: {time.time() - start:.0f} s", flush=True)
        room.unmount()
        if not args.keep:
            shutil.rmtree(room.base(name), ignore_errors=True)
        shutil.rmtree(os.path.join(room.scratch, "upper"), ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = parser.add_subparsers(required=True)
    r = sub.add_parser("run")
    r.add_argument("--tool", required=True, type=os.path.abspath)
    r.add_argument("--scratch", required=True)
    r.add_argument("--out", required=True)
    r.add_argument("--env", help="only these environments, by id")
    r.add_argument("--damage", help="only these damages, by id")
    r.add_argument("--no-damage", action="store_true")
    r.add_argument("--keep", action="store_true", help="keep the environments as installed for a second run")
    r.add_argument("--pins", type=int, default=0, help="follow the first pin, too, so many times for each rule")
    r.add_argument("--follow", help="follow pins of these states only: ENVIRONMENT/DAMAGE or ENVIRONMENT/healthy, by comma")
    r.add_argument("--reports", help="keep here the tool's report of every triple that is not a plain hit")
    r.add_argument("--proofs", help="rows of former runs: where they prove a state, the interpreter is not asked again")
    r.add_argument("--pin-machine", default="h100-580")
    r.add_argument("--cuobjdump", default=shutil.which("cuobjdump") or "")
    r.set_defaults(call=run)
    args = parser.parse_args()
    args.call(args)


if __name__ == "__main__":
    main()
