#!/usr/bin/env python3
"""Asks cudacompat, rigsolve and env-doctor the same questions: which release of a package for a GPU and a driver?

    compare.py PROGRAM [--seed N] [--count N] [--rivals DIR] [--write docs/compared.md]

DIR has rigsolve 1.0.0 and env-doctor 0.3.5 (pip install --target DIR). Both are asked by their own functions: rigsolve's
command line, and what env-doctor's `install` calls. It needs no network and no GPU. The questions are drawn by the seed.

Where another program is newer, its answer is put to `cudacompat check` for the GPU and the driver. What check refuses has
its reason printed. What check calls compatible is a fault of pins, unless its set names the release with the reason why it
is not in it.
"""
import argparse, concurrent.futures, contextlib, io, json, os, random, re, subprocess, sys

GPUS = {"GTX 1080": "6.1", "P100": "6.0", "V100": "7.0", "T4": "7.5", "RTX 2080": "7.5", "A100": "8.0", "A10G": "8.6", "RTX 3090": "8.6",
        "L4": "8.9", "RTX 4090": "8.9", "L40S": "8.9", "H100": "9.0", "H200": "9.0", "B200": "10.0", "RTX 5090": "12.0", "GB10": "12.1"}
DRIVERS = ["450.248.02", "470.256.02", "515.105.01", "525.147.05", "535.183.01", "535.309.01", "545.23.08", "550.54.15", "550.90.07", "555.42.06",
           "560.35.03", "570.86.10", "570.133.20", "575.57.08", "580.65.06", "580.95.05", "590.48.01", "595.71.05", "620.70.06"]
WANTS = ["torch"] * 8 + ["vllm"] * 4 + ["sglang"] * 3 + ["flash-attn"] * 2 + ["xformers"] * 2 + ["torchvision", "jax", "tensorflow", "bitsandbytes"]


def questions(seed, count):
    drawn, rand = [], random.Random(seed)
    while len(drawn) < count:
        q = (rand.choice(sorted(GPUS)), rand.choice(DRIVERS), rand.choice(WANTS))
        if q not in drawn:
            drawn.append(q)
    return drawn


def run(program, *args):
    done = subprocess.run([program, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout, done.stderr


def ours(program, q):
    """ours is (version, what the set says of newer ones, why there is none)."""
    gpu, driver, want = q
    out, err = run(program, "pins", "--want", want, "--gpu", gpu, "--driver", driver, "--python", "3.12", "-o", "json")
    if not out:
        return None, [], err.strip()
    pins = json.loads(out)
    for s in pins["sets"]:
        if s["choice"] in ("keep-driver", "together"):
            p = next(p for p in s["packages"] if p["package"].split("[")[0] == want)
            return p["version"] or "unpinned", [x for x in s["lacks"] if " is newer " in x], ""
    for m in pins["missing"]:
        if m["choice"] in ("keep-driver", "together"):
            return None, [], m["why"]
    return None, [], "; ".join(m["why"] for m in pins["missing"])


def rigsolve(q):
    """rigsolve is (version, list of requirements)."""
    from rigsolve import cli
    gpu, driver, want = q
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            cli.main(["solve", "--want", want, "--target", f"{gpu},driver={driver},python=3.12,linux", "--prefer", "newest", "--output", "json"])
        except SystemExit:
            pass
    try:
        steps = json.loads(out.getvalue())["steps"]
    except (ValueError, KeyError):
        return None, []
    line = {s["package"]: s for s in steps}
    specs = []
    for s in steps:
        local = "+cu" + s["cuda_line"].replace(".", "") if s["package"] == "torch" and s["cuda_line"] else ""
        specs.append(f'{s["package"]}=={s["version"].split("+")[0]}{local}')
    if want not in line:
        return None, []
    version = next(x for x in specs if x.startswith(want + "==")).split("==")[1]
    return version, specs


def env_doctor(q, newest):
    """env_doctor is (version, list of requirements). A command without a release gives the newest of its index."""
    from env_doctor import db, engines
    _, driver, want = q
    most = db.get_max_cuda_for_driver(driver)
    if want in engines.SUPPORTED_ENGINES:
        res = engines.resolve_engine(want, most, db.load_engine_data(), target_version=None, min_driver_for_cuda=db.get_min_driver_for_cuda, have_uv=True)
        for o in res.options:
            if not o.risky and o.commands:
                m = re.search(want + r"==([\w.]+)", " ".join(o.commands))
                if m:
                    tag = re.search(r"cu1\d\d", " ".join(o.commands))
                    cuda = tag.group(0) if tag else "cu" + (o.cuda or "").replace(".", "")
                    return m.group(1) + ("+" + cuda if cuda != "cu" else ""), [f"{want}=={m.group(1)}+{cuda}"]
        return None, []
    with contextlib.redirect_stdout(io.StringIO()):
        command = db.get_install_command(want, most)
    if not command or command == "Unknown":
        return None, []
    pinned = re.search(re.escape(want) + r"(?:\[[\w-]+\])?==([\w.+]+)", command)
    tag = re.search(r"/whl/(cu\d+)", command)
    if pinned:
        version = pinned.group(1) + ("+" + tag.group(1) if tag and "+" not in pinned.group(1) and want == "torch" else "")
    elif tag and want == "torch":
        version = newest.get(tag.group(1))
        if not version:
            return None, []
        version += "+" + tag.group(1)
    else:
        return None, []
    extra = {"jax": "[cuda12]", "tensorflow": "[and-cuda]"}.get(want, "")
    return version, [f"{want}{extra}=={version}"]


def key(version):
    return [int(x) for x in re.findall(r"\d+", re.split(r"[+]", version)[0])]


def judged(program, q, specs):
    """judged is what check says of another program's answer: outcome and reason."""
    gpu, driver, _ = q
    args = ["check", *specs, "--gpu", gpu, "--driver", driver, "--python", "3.12", "-o", "json"]
    out, err = run(program, *args)
    if not out:
        return "not judged", err.strip().split("\n")[0]
    r = json.loads(out)
    reason = ""
    if r["outcome"] == "incompatible":
        f = next(f for f in r["findings"] if f["severity"] == "error")
        reason = f["rule"] + ": " + f["message"]
    elif r["outcome"] == "inconclusive":
        reason = "; ".join(u["missing"] for u in r["unknown"][:1])
    return r["outcome"], re.sub(r"\s+", " ", reason)


def newest_torch(program):
    out, _ = run(program, "matrix", "torch", "-o", "json")
    newest = {}
    for row in json.loads(out):
        if row["platform"] == "linux_x86_64" and (row["variant"] not in newest or key(row["release"]) > key(newest[row["variant"]])):
            newest[row["variant"]] = row["release"]
    return newest


def answer(program, q, newest, other):
    mine = ours(program, q)
    row = {"gpu": q[0], "driver": q[1], "want": q[2], "ours": mine[0], "says": mine[1], "none": mine[2]}
    for name in ("rigsolve", "env-doctor"):
        version, specs = other[name]
        row[name] = version
        if not version:
            row[name + " newer"] = "ours only" if mine[0] else "neither"
        elif mine[0] and key(version) <= key(mine[0]):
            row[name + " newer"] = "same" if key(version) == key(mine[0]) else "ours"
        else:
            outcome, reason = judged(program, q, specs)
            said = [x for x in mine[1] if x.startswith(f"{q[2]} {version.split('+')[0]} ")]
            if outcome == "compatible" and said:
                outcome, reason = "named", said[0]
            row[name + " newer"], row[name + " why"] = "theirs" if mine[0] else "theirs only", f"{outcome}: {reason}"
    return row


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--seed", type=int, default=59)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--rivals", default=".")
    p.add_argument("--json")
    p.add_argument("--write")
    a = p.parse_args()
    sys.path.insert(0, a.rivals)
    asked = questions(a.seed, a.count)
    newest = newest_torch(a.program)
    others = [{"rigsolve": rigsolve(q), "env-doctor": env_doctor(q, newest)} for q in asked]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda x: answer(a.program, x[0], newest, x[1]), zip(asked, others)))
    if a.json:
        with open(a.json, "w") as f:
            json.dump(rows, f, indent=1)
    print(summary(rows))
    for r in rows:
        for name in ("rigsolve", "env-doctor"):
            if r[name + " newer"].startswith("theirs"):
                print(f'{r["gpu"]}, {r["driver"]}, {r["want"]}: ours {r["ours"]}, {name} {r[name]}: {r[name + " why"][:160]}')
    if a.write:
        write(a.write, rows, a.seed)
    return any(r.get(n + " why", "").startswith("compatible") for r in rows for n in ("rigsolve", "env-doctor"))


def summary(rows):
    lines = ["| | ours newer | ours only | same | neither | theirs, refused by check | theirs, named by ours with the reason | theirs, not known | theirs, and right |", "|---|---|---|---|---|---|---|---|---|"]
    for name in ("rigsolve", "env-doctor"):
        n = [r[name + " newer"] for r in rows]
        why = [r.get(name + " why", "") for r in rows]
        lines.append(f'| {name} | {n.count("ours")} | {n.count("ours only")} | {n.count("same")} | {n.count("neither")} | '
                     f'{sum(w.startswith("incompatible") for w in why)} | {sum(w.startswith("named") for w in why)} | {sum(w.startswith(("inconclusive", "not judged")) for w in why)} | {sum(w.startswith("compatible") for w in why)} |')
    return "\n".join(lines)


BEGIN, END = "<!-- compare.py -->", "<!-- /compare.py -->"


def write(path, rows, seed):
    lines = [BEGIN, "", summary(rows), "", "<details>", f"<summary>The {len(rows)} questions, Python 3.12 on Linux, seed {seed}</summary>", "",
             "| GPU | driver | wanted | cudacompat | rigsolve | env-doctor | where another is newer |", "|---|---|---|---|---|---|---|"]
    for r in rows:
        why = "; ".join(dict.fromkeys(f'{r[n + " why"].replace("|", "/")}' for n in ("rigsolve", "env-doctor") if r.get(n + " why")))
        lines.append(f'| {r["gpu"]} | {r["driver"]} | {r["want"]} | {r["ours"] or "–"} | {r["rigsolve"] or "–"} | {r["env-doctor"] or "–"} | {why} |')
    lines += ["", "</details>", "", END]
    text = open(path).read()
    start, end = text.index(BEGIN), text.index(END) + len(END)
    with open(path, "w") as f:
        f.write(text[:start] + "\n".join(lines) + text[end:])


if __name__ == "__main__":
    sys.exit(main())
