#!/usr/bin/env python3
"""Compares what guard foretells of an installer's command with what is there once the command was carried out.

    python3 tools/lab/guardtruth/guardtruth.py run CUDACOMPAT LIST DIR OUT.jsonl [NAME...]
    python3 tools/lab/guardtruth/guardtruth.py again CUDACOMPAT DIR OUT.jsonl [NAME...]  (foretells anew, installs nothing)
    python3 tools/lab/guardtruth/guardtruth.py report OUT.jsonl

By hand, never in CI: it installs gigabytes with uv and pip into copies (hard links) of the real environments that LIST
names (first.txt, second.txt), which it makes under DIR when they are not there. Each change is foretold before each machine and made. Then two are asked about
the copy: doctor, before each machine, and its own Python, which imports every package that either of them judged, with
a libcuda beside it that has every function and no device (tools/lab/campaign/oracle.py). Nothing may be called fine that
one of the two calls broken; what the forecast leaves unknown has a reason, which is printed. Names of environments or
of changes choose some of them; what OUT has already is not done again. What uv fetches goes to a cache of its own, which
is deleted after each change.
"""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CAMPAIGN = os.path.join(os.path.dirname(HERE), "campaign")
sys.path.insert(0, CAMPAIGN)
import campaign  # noqa: E402

MACHINES = [("550.90.07", "L4"), ("580.95.05", "RTX 5090"), ("535.183.01", "V100"), ("580.178.04", "H100")]

JAX = re.compile(r"^jax")  # its parts are imported as one
# What an import lacks on every machine without a GPU, its driver, FFmpeg or such, and what says nothing of the installation.
NO_PROOF = re.compile(r"libav(util|codec|format)|FFmpeg|libnvidia-encode|libnvcuvid|0 active drivers|No CUDA GPUs|no CUDA-capable device")


def run(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", **more)


def read(path):
    """What a list holds, by environment: the packages that make it, and the changes."""
    environments, changes = {}, {}
    for line in open(path):
        if line.startswith(" "):
            changes[name].append(line.strip())
        elif line.strip() and line[0] != "#":
            name, _, packages = line.partition(": ")
            environments[name], changes[name] = packages.split(), []
    return environments, changes


def settings(base):
    return {**os.environ, "UV_CACHE_DIR": base + "/cache", "UV_LINK_MODE": "hardlink"}


def command(env, change):
    """The installer's argv for a change of an environment."""
    words = change.split()
    python = env + "/bin/python"
    if words[0] == "pip":
        return [python, "-m", "pip"] + words[1:]
    return ["uv", "pip", words[0], "--python", python] + words[1:]


def judged(tool, arguments):
    out = run([tool] + arguments + ["-o", "json", "--timeout", "300s"])
    try:
        report = json.loads(out.stdout)
    except ValueError:
        sys.exit("no report: %s: %s" % (arguments, out.stderr))
    return {"outcome": report["outcome"], "broken": broken(report), "answers": answers(report),
            "untold": sorted(untold(report)), "reasons": reasons(report), "errors": errors(report["findings"])}


def answers(report):
    return {a["subject"].split()[0]: a["answer"] for a in report["answers"] if a["counts"]}


def errors(findings):
    return ["%s: %s" % (f["rule"], f["message"]) for f in findings if f["severity"] == "error"]


def broken(report):
    """What does not work: by its answer, or by an error where it has none; not what only misses a broken torch."""
    names = {a["subject"].split()[0] for a in report["answers"] if a["answer"] == "broken" and a["counts"]}
    names |= {f["subject"].split()[0] for f in report["findings"] if f["severity"] == "error"}
    return named_broken(names)


def named_broken(names):
    return sorted({"torch"} | names & {"jax", "tensorflow"}) if "torch" in names else sorted(names)


def untold(report):
    names = {a["subject"].split()[0] for a in report["answers"] if a["answer"] == "unknown" and a["counts"]}
    return names | {u["subject"].split()[0] for u in report["unknown"]}


def reasons(report):
    return sorted({"%s: %s" % (u["subject"].split(" in ")[0], u["missing"]) for u in report["unknown"]})


# ---- what the environment's own Python says ----

def modules_of(env, name):
    """The modules that a distribution has, by its RECORD; none where it is not there."""
    if JAX.match(name):
        name = "jax"
    for info in glob.glob(env + "/lib/python3*/site-packages/*.dist-info"):
        if re.sub(r"[-_.]+", "-", os.path.basename(info).split("-")[0].lower()) != name:
            continue
        found = set()
        for line in open(info + "/RECORD"):
            path = line.split(",")[0]
            top, _, rest = path.partition("/")
            if rest == "__init__.py" or not rest and re.search(r"\.(py|so)$", top):
                found.add(top.split(".")[0])
        own = name.replace("-", "_")
        return [own] if own in found else sorted(m for m in found if m.isidentifier() and m not in ("tests", "test", "docs"))[:2]
    return []


class Oracle(campaign.Room):
    """The interpreter of an environment that lies where it is."""

    def __init__(self, scratch, env):
        super().__init__(scratch, "")
        self.env = env

    def wrong(self, packages):
        """What each package's import, or what it opens when a GPU is used, fails with; nothing where it does not."""
        modules = {m: p for p in packages for m in modules_of(self.env, p)}
        found = {p: [] for p in packages if p in modules.values()}
        for m, p in sorted(modules.items()):  # each in a process of its own: one's libraries would serve the next
            state = self.state({"imports": [m]})
            if "failed" in state:
                found.pop(p, None)
                continue
            if "crashed" in state:
                found[p].append(m + ": the process ended: " + state["crashed"])
                continue
            says = state["modules"][m]
            texts = [] if says["ok"] else [says["error"]]
            texts += ["%s: %s" % (c["name"], c["error"]) for c in says["checks"] if c["error"]]
            found[p] += ["%s: %s" % (m, t[:300]) for t in texts if not NO_PROOF.search(t)]
        return found


# ---- one change ----

def told(record):
    """Every package that somebody judged."""
    names = set()
    for side in ("foretold", "doctor"):
        for one in record[side].values():
            names |= set(one["answers"]) | set(one["broken"])
    return sorted(names - {"driver"})


def machines():
    return [(" ".join(m), ["--driver", m[0], "--gpu", m[1]]) for m in MACHINES]


def foretell(tool, base, env, change, before):
    """What guard says of a change before each machine, in the form of judged; None where it has no plan."""
    foretold = {}
    for name, machine in machines():
        out = run([tool, "guard", "--dry-run", "-o", "json"] + machine + ["--"] + command(env, change), env=settings(base))
        try:
            said = json.loads(out.stdout)
        except ValueError:
            return None
        will = {c["build"]: c["will"] for c in said["changes"]}
        broken = {f["subject"].split()[0] for f in said["breaks"] + said["still"]}
        untold = {u["subject"].split()[0] for u in said["unknown"]}
        foretold[name] = {
            "outcome": said["after"], "decision": said["decision"],
            "broken": named_broken(broken | {b for b, w in will.items() if w == "broken"}),
            "answers": {b: w for b, w in {**before[name], **will}.items() if w},
            "untold": sorted(untold | {b for b, w in will.items() if w == "unknown"}),
            "reasons": reasons(said), "errors": errors(said["breaks"] + said["still"])}
    return foretold


def one(tool, base, name, change, baseline):
    """A change, foretold, made, and asked about."""
    env, copy = "%s/%s" % (base, name), "%s/%s-copy" % (base, name)
    shutil.rmtree(copy, ignore_errors=True)
    run(["cp", "-al", env, copy], check=True)
    record = {"env": name, "change": change, "foretold": foretell(tool, base, copy, change, baseline["answers"])}
    if record["foretold"] is None:
        return {**record, "failed": "no plan"}
    done = run(command(copy, change), env=settings(base))
    if done.returncode != 0:
        return {**record, "failed": "not done: " + done.stderr.strip().split("\n")[-1]}
    record["doctor"] = {n: judged(tool, ["doctor", "--env", copy] + w) for n, w in machines()}
    oracle = Oracle(base + "/oracle", copy)
    names = told(record) + baseline["names"]
    record["python"] = oracle.wrong(sorted(set(names)))
    for p, texts in record["python"].items():  # what fails without the change, too, is not its doing
        old = {failing(t) for t in baseline["wrong"].get(p, [])}
        record["python"][p] = [t for t in texts if failing(t) not in old]
    return record


def failing(text):
    """What fails, "cupy: cublas", without how this release words it."""
    return ": ".join(text.split(": ")[:2])


def baseline(tool, base, name):
    """What is judged of an environment as it is, and fails there."""
    env = "%s/%s" % (base, name)
    answers = answers_of(tool, env)
    names = sorted(answers[machines()[0][0]])
    return {"names": names, "answers": answers, "wrong": Oracle(base + "/oracle", env).wrong(names)}


def answers_of(tool, env):
    return {n: judged(tool, ["doctor", "--env", env] + w)["answers"] for n, w in machines()}


def make(base, name, wanted):
    env = "%s/%s" % (base, name)
    if os.path.exists(env):
        return ""
    run(["uv", "venv", "-q", "--python", sorted(glob.glob(campaign.PYTHONS.format("3.12")))[0], env], check=True)
    packages = [p for p in wanted if p[0] != "-"]
    made = run(["uv", "pip", "install", "-q", "--python", env + "/bin/python"] + packages, env=settings(base))
    if made.returncode != 0:
        shutil.rmtree(env)
    lost = [p[1:] for p in wanted if p[0] == "-"]
    if lost:
        run(["uv", "pip", "uninstall", "-q", "--python", env + "/bin/python"] + lost)
    return made.stderr.strip().split("\n")[-1] if made.returncode else ""


def run_all(tool, listed, base, out, chosen):
    environments, every = read(listed)
    known = {(r["env"], r["change"]) for r in recorded(out)}
    named = [c for c in chosen if c in environments] or list(environments)
    some = [c for c in chosen if c not in environments]
    for name in named:
        changes = [c for c in every[name] if (not some or c in some) and (name, c) not in known]
        if not changes:
            continue
        failed = make(base, name, environments[name])
        if failed:
            print("left out  %-9s %s" % (name, failed), flush=True)
            continue
        before = baseline(tool, base, name)
        print("%s: %s" % (name, before["wrong"]), flush=True)
        for change in changes:
            record = one(tool, base, name, change, before)
            with open(out, "a") as f:
                f.write(json.dumps(record) + "\n")
            shown(record)
            shutil.rmtree("%s/%s-copy" % (base, name), ignore_errors=True)
            shutil.rmtree(base + "/cache", ignore_errors=True)


def recorded(path):
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []


# ---- what came out ----

def compare(record, machine):
    """(word, detail) of one change before one machine."""
    f, d, python = record["foretold"][machine], record["doctor"][machine], record["python"]
    fails = sorted(p for p, texts in python.items() if texts)
    is_ = sorted(set(d["broken"]) | set(fails))
    if f["outcome"] == "compatible" and (d["outcome"] == "incompatible" or fails):
        return "WRONG", is_
    fine = sorted(p for p in fails if f["answers"].get(p, "").startswith("works"))
    fine += [p for p in d["broken"] if f["outcome"] != "incompatible" and f["answers"].get(p, "").startswith("works")]
    if fine:
        return "WRONG", sorted(set(fine))
    if f["outcome"] == d["outcome"] and (f["outcome"] != "incompatible" or f["broken"] == d["broken"]):
        return "same", []
    if f["outcome"] == "inconclusive" or set(d["broken"]) - set(f["broken"]) <= set(f["untold"]) and not (
            set(f["broken"]) - set(d["broken"])):
        return "unknown", is_
    if f["outcome"] == d["outcome"] == "incompatible":
        return "otherwise", is_
    return "ALARM" if f["outcome"] == "incompatible" else "otherwise", is_


def shown(record):
    if "failed" in record:
        print("%-9s %-9s %s" % ("left out", record["env"], record["change"] + ": " + record["failed"]), flush=True)
        return
    for machine in record["foretold"]:
        word, is_ = compare(record, machine)
        f, d = record["foretold"][machine], record["doctor"][machine]
        print("%-9s %-9s %-48s %-20s %s -> %s" % (word, record["env"], record["change"], machine, f["outcome"], d["outcome"]))
        if word != "same":
            print("          foretold broken %s, is %s" % (f["broken"], is_))
            for reason in f["reasons"][:3]:
                print("          ? " + reason)
    for p, texts in record["python"].items():
        says = {d["answers"].get(p, "-") for d in record["doctor"].values()}
        if texts:
            print("   Python cannot use %s: %s (doctor: %s)" % (p, "; ".join(texts)[:200], " ".join(sorted(says))))
    sys.stdout.flush()


def report(path):
    records = {}
    for r in recorded(path):
        records[r["env"], r["change"]] = r
    counts, trusts = collections.Counter(), collections.Counter()
    for r in records.values():
        shown(r)
        if "failed" in r:
            continue
        for machine, d in r["doctor"].items():
            counts[compare(r, machine)[0]] += 1
            for p, texts in r["python"].items():
                if texts and d["answers"].get(p, "").startswith("works"):
                    trusts[r["env"], r["change"], p] += 1
    total = sum(counts.values())
    left = sum("failed" in r for r in records.values())
    print("%d changes (%d left out), %d judgements: %s" % (len(records) - left, left, total, ", ".join(
        "%d %s" % (n, w) for w, n in counts.most_common())))
    for key, n in trusts.items():
        print("doctor says works and Python does not: %s (%d machines)" % (" | ".join(key), n))
    return counts["WRONG"]


def again(tool, base, path, chosen):
    """Foretells every change anew; what followed is known."""
    kept = recorded(path)
    with open(path + ".again", "w") as f:
        for name in dict.fromkeys(r["env"] for r in kept):
            env, copy = "%s/%s" % (base, name), "%s/%s-copy" % (base, name)
            shutil.rmtree(copy, ignore_errors=True)  # what a run that was stopped has left
            if not os.path.exists(env) or chosen and name not in chosen:
                continue
            run(["cp", "-al", env, copy], check=True)
            before = answers_of(tool, copy)
            for r in kept:
                if r["env"] == name and "failed" not in r:
                    f.write(json.dumps({**r, "foretold": foretell(tool, base, copy, r["change"], before)}) + "\n")
            shutil.rmtree(copy)
    return report(path + ".again")


def main():
    verb, rest = sys.argv[1], sys.argv[2:]
    if verb == "run":
        run_all(rest[0], rest[1], os.path.abspath(rest[2]), os.path.abspath(rest[3]), rest[4:])
        rest = rest[3:4]
    sys.exit((again(rest[0], os.path.abspath(rest[1]), rest[2], rest[3:]) if verb == "again" else report(rest[0])) > 0)


if __name__ == "__main__":
    main()
