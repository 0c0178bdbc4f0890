"""Damages single files that an import reads, by a seed, and compares the tool with the interpreter.

    files.py packages --tool BINARY --scratch DIR --out FILE --seed N [--packages 20] [--exclude FILE] [--constraints FILE]
    files.py frameworks --tool BINARY --scratch DIR --out FILE --seed N [--files 40]
    files.py again FORMER --tool BINARY --scratch DIR --out FILE   (the same states; the interpreter's answers are kept)
    files.py report FILE...

"packages" draws names from pool.txt as draw.py does and damages each environment in the ten ways of KINDS. "frameworks" takes the
environments torch, jax, onnxruntime and cupy, which must lie below DIR/base, and damages files in the first five ways.

The truth is what oracle.py says in the damaged environment. A module that keeps less than half of its public names is
broken, too: an empty file can be imported, and nothing can be done with it. Needs what campaign.py needs.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import sys
import time

import campaign
import draw

FILES = ["emptied", "deleted", "cut short", "overwritten", "a dangling link"]
KINDS = FILES + ["another release", "METADATA gone", "dist-info gone", "shadowed by .pth", "shadowed by PYTHONPATH"]
FRAMEWORKS = {"torch": ["torch"], "jax": ["jax"], "onnxruntime": ["onnxruntime"], "cupy": ["cupy"]}
SUBJECTS = {"onnxruntime": "onnxruntime-gpu", "cupy": "cupy-cuda13x"}
LARGE = re.compile(r"^(nvidia-|torch$|jaxlib|tensorflow|triton|cupy-|onnxruntime|paddle)")


def owners(site):
    """The distribution of each file of a site, by its path below the site."""
    owner = {}
    for record in glob.glob(os.path.join(site, "*.dist-info", "RECORD")):
        name = os.path.basename(os.path.dirname(record))
        for line in open(record, errors="replace"):
            owner.setdefault(line.rsplit(",", 2)[0].strip('"'), name)
    return owner


def pick(rng, files, own):
    """A file by chance: of the package's own as often as of the others, a library as often as a source."""
    wanted = [f for f in files if (f in own) == (rng.random() < 0.6)] or files
    libraries = rng.random() < 0.5
    return rng.choice(sorted(f for f in wanted if f.endswith(".py") != libraries) or sorted(wanted))


def plan(rng, kinds, files, own, owner):
    """The damages of one environment: kind, file and what else the kind needs, by chance."""
    for kind in kinds:
        path = pick(rng, files, own)
        other = rng.choice(sorted(f for f in files if f.endswith(".py") == path.endswith(".py") and owner.get(f) != owner.get(path)) or [path])
        if kind == "another release":
            small = [f for f in files if f in owner and not LARGE.match(draw.normal(owner[f].split("-")[0]))] or files
            path = pick(rng, small, [f for f in small if f in own])
        yield {"kind": kind, "path": path, "other": other, "coin": rng.random() < 0.5, "owner": owner.get(path, "")}


def apply(room, d):
    """Does one damage; returns why it cannot be done."""
    site, kind = room.site(), d["kind"]
    path, top = os.path.join(site, d["path"]), d["path"].split("/")[0].split(".")[0]
    info = os.path.join(site, d["owner"])
    if kind in FILES:
        content = open(os.path.join(site, d["other"]), "rb").read()
        size = os.path.getsize(path)
        if size == 0:
            return "the file is empty"
        os.remove(path) if kind != "cut short" else os.truncate(path, size // 2)
        if kind in ("emptied", "overwritten"):
            with open(path, "wb") as f:
                f.write(content if kind == "overwritten" else b"")
        elif kind == "a dangling link":
            os.symlink("/nowhere/" + os.path.basename(path), path)
    elif not d["owner"]:
        return "nobody owns the file"
    elif kind == "METADATA gone":
        os.remove(os.path.join(info, "METADATA"))
    elif kind == "dist-info gone":
        shutil.rmtree(info)
    elif kind == "another release":
        name, version = d["owner"][:-len(".dist-info")].split("-")[:2]
        known = draw.versions(draw.normal(name))
        at = known.index(version) if version in known else -1
        older = [v for v in known[:max(at, 0)] if re.fullmatch(r"[\d.]+", v)]
        if not older:
            return "no older release"
        return draw.install(room, f"{draw.normal(name)}=={older[0 if d['coin'] else -1]}")
    else:
        folder = os.path.join(room.env, "shadow")
        os.makedirs(os.path.join(folder, top))
        open(os.path.join(folder, top, "__init__.py"), "w").close()
        if kind == "shadowed by PYTHONPATH":
            room.settings["PYTHONPATH"] = folder
        else:  # a path that .pth names comes last; a line that inserts one comes first
            with open(os.path.join(site, "zz-shadow.pth"), "w") as f:
                f.write(f"import sys; sys.path.insert(0, {folder!r})\n" if d["coin"] else folder + "\n")
    return ""


def ask(room, tool, subject, modules, own, record, kept=None, names=None):
    """One record: what the interpreter says, or said, and what the tool says now."""
    report, code = room.said(tool)
    one = {**record, "exit": code, "subjects": {},
           "errors": [[f["rule"], f["subject"][:80], f["message"][:200]] for f in report["findings"] if f["severity"] == "error"],
           "unknown": [[u["rule"], u["subject"][:80], u["missing"][:120]] for u in report.get("unknown", [])]}
    if kept is not None:
        wrong = kept
    else:
        state = room.truth(modules)
        if "failed" in state:
            return {**one, "failed": state["failed"]}, {}
        wrong = []
        for name in modules:
            m = state["modules"].get(name, {"ok": True, "checks": []})
            wrong += [[name, m["error"]]] if not m["ok"] else []
            wrong += [[name, f"{c['name']}: {c['error']}"] for c in m.get("checks", []) if c["error"]]
            before = (names or {}).get(name, [])
            lost = set(before) - set(m.get("names", []))
            if m["ok"] and len(lost) * 2 > len(before) and "another release" not in record["state"]:
                wrong.append([name, f"No module named as before: {len(lost)} of {len(before)} names are gone"])
            elif m["ok"] and lost:
                one["lost"] = sorted(lost)[:5]
        if subject not in FRAMEWORKS and subject not in SUBJECTS.values():
            wrong += draw.forgone(room, subject, modules, False, own)
        one["truth"] = state["modules"]
        names = {n: m.get("names", []) for n, m in state["modules"].items()}
        files = [os.path.relpath(p, room.site()) for p in state.get("closure", []) + state.get("sources", [])]
        for m in one["truth"].values():
            m.pop("names", None)
        room.files = [f for f in files if not f.startswith("..") and "_virtualenv" not in f and os.path.exists(os.path.join(room.site(), f))]
    one["subjects"][subject] = {"wrong": wrong, **draw.says(report, subject)}
    return one, names or {}


def states(room, a, subject, modules, rng, kinds):
    """All damages of one environment that is built."""
    room.fresh({"id": room.id})
    own = draw.carries(room, subject)
    record = {"package": subject, "environment": room.id, "branch": 580, "modules": modules}
    sound, names = ask(room, a.tool, subject, modules, own, {**record, "state": "as it is"})
    draw.write(a.out, [sound])
    owner = owners(room.site())
    files = sorted(getattr(room, "files", []))
    mine = {f for f in files if draw.normal(owner.get(f, "").split("-")[0]) == subject}
    if not files:
        return
    for d in plan(rng, kinds, files, mine, owner):
        room.fresh({"id": room.id})
        why = apply(room, d)
        state = f"{d['kind']}: {d['path']}" + (" (other)" if d["coin"] else "")
        if why:
            draw.write(a.out, [{**record, "state": "not done: " + state, "failed": why[-200:]}])
            continue
        one, _ = ask(room, a.tool, subject, modules, own, {**record, "state": state, "damage": d}, names=names)
        draw.write(a.out, [one])


def frameworks(a):
    rng, room = random.Random(a.seed), draw.Room(a.scratch, "")
    for i, (name, modules) in enumerate(FRAMEWORKS.items()):
        count = a.files // len(FRAMEWORKS) + (i < a.files % len(FRAMEWORKS))
        kinds = [FILES[n % len(FILES)] for n in range(count)]
        if a.only and name not in a.only.split(","):
            continue
        room.id = name
        states(room, a, SUBJECTS.get(name, name), modules, random.Random(f"{a.seed} {name}"), kinds)
        draw.say(name)
    room.unmount()
    del rng


def fits(wanted, python, constraints):
    """Why what a package requires is too large to be fetched, or does not go with the constraints; else nothing."""
    args = ["uv", "pip", "compile", "-q", "--no-header", "--no-annotate", "--only-binary", ":all:", "--python", python]
    out = campaign.sh(*args, *(["-c", constraints] if constraints else []), "-", input="\n".join(wanted))
    if out.returncode:
        return out.stderr[-200:]
    held = open(constraints).read().split() if constraints else []
    large = [line for line in out.stdout.split() if LARGE.match(line.split("==")[0]) and line not in held]
    return "large: " + " ".join(large) if large else ""


def packages(a):
    with open(os.path.join(draw.HERE, "pool.txt")) as f:
        pool = f.read().split()
    random.Random(a.seed).shuffle(pool)
    skip = set(open(a.exclude).read().split()) if a.exclude else set()
    room, drawn, deadline = draw.Room(a.scratch, ""), 0, time.time() + a.minutes * 60
    for name in pool:
        if drawn == a.packages or time.time() > deadline:
            break
        if draw.normal(name) in skip or LARGE.match(draw.normal(name)) or name.startswith("cuda-"):
            continue
        draw.PYTHONS = ["3.12", "3.11", "3.10", "3.9", "3.8", "3.13"]  # the constraints' torch is that of the first
        try:
            path, python = draw.wheel(name, a.scratch, a.largest_mb)
            p = draw.look(path, a.scratch) if path else None
        except Exception as err:  # noqa: B902 - a wheel that cannot be read is none
            path, python, p = None, f"{type(err).__name__}: {err}"[:100], None
        if not p or not p["code"] + p["asks"] or not p["modules"]:
            draw.say(name, "left out:", python if not path else "no CUDA code, or nothing to import")
            continue
        modules = list(p["modules"])[:3]
        wanted = [path] + (["torch"] if p["torch"] else [])
        binary = sorted(glob.glob(campaign.PYTHONS.format(python)))
        why = fits(wanted, binary[0], a.constraints) if binary else "no Python " + python
        if why:
            draw.say(name, "left out:", why.replace("\n", " "))
            continue
        room.id = p["name"]
        os.environ["UV_CONSTRAINT"] = a.constraints
        failed = room.build({"id": room.id, "python": python, "install": wanted, "imports": modules, "apart": True})
        if failed:
            draw.say(name, "left out:", failed[-150:].replace("\n", " "))
            continue
        drawn += 1
        draw.say(f"{drawn}. {p['name']} {p['version']} Python {python} code {p['code']} asks {p['asks']} torch {p['torch']} modules {modules}")
        try:
            states(room, a, p["name"], modules, random.Random(f"{a.seed} {name}"), KINDS)
        except Exception as err:  # noqa: B902 - one environment must not end the draw
            draw.say("   ended:", type(err).__name__, str(err)[:200])
        room.unmount()


def again(a):
    room = draw.Room(a.scratch, "")
    for line in open(a.former):
        r = json.loads(line)
        if "failed" in r or a.only and r["package"] not in a.only.split(","):
            continue
        room.id = r["environment"]
        room.fresh({"id": room.id})
        if "damage" in r and apply(room, r["damage"]):
            continue
        kept = r["subjects"][r["package"]]["wrong"]
        keep = {k: r[k] for k in ("package", "environment", "branch", "modules", "state", "damage", "lost", "truth") if k in r}
        draw.write(a.out, [ask(room, a.tool, r["package"], r["modules"], [], keep, kept=kept)[0]])
    room.unmount()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("verb", choices=["packages", "frameworks", "again", "report"])
    p.add_argument("files_", nargs="*")
    for flag in ("--tool", "--scratch", "--out"):
        p.add_argument(flag)
    for flag in ("--exclude", "--constraints", "--only"):
        p.add_argument(flag, default="")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--packages", type=int, default=20)
    p.add_argument("--files", type=int, default=40)
    p.add_argument("--minutes", type=float, default=45)
    p.add_argument("--largest-mb", type=float, default=40)
    a = p.parse_args()
    if a.verb == "report":
        return draw.report(a.files_)
    a.scratch, a.out = os.path.abspath(a.scratch), os.path.abspath(a.out)
    a.former = a.files_[0] if a.files_ else ""
    return {"packages": packages, "frameworks": frameworks, "again": again}[a.verb](a)


if __name__ == "__main__":
    sys.exit(main())
