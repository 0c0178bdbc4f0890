#!/usr/bin/env python3
"""Draws changes of an environment by a seed, as a list that guardtruth.py runs.

    python3 tools/lab/guardtruth/draw.py LIST NAME ENV SEED N [LIST...] >>drawn.txt

NAME is an environment of LIST, made as ENV. A change is of one of seven kinds: a member is brought up to date, set to a
release near its own with what it needs or with --no-deps, uninstalled, or replaced by its twin for another processor or
CUDA; a package of the tables is put beside it; an extra of a member is asked for. Of ten members eight are drawn from
those that hold CUDA code or libraries, and one change of seven is made by pip. What LIST or the other lists have is not
drawn again, nor what uv cannot resolve from wheels or what changes nothing.
"""
import csv
import os
import random
import re
import subprocess
import sys
from importlib import metadata

import guardtruth

DATA = os.path.join(guardtruth.HERE, "..", "..", "..", "data")
HEAVY = re.compile(r"^(nvidia-|torch|jax|tensorflow|xformers|onnxruntime|cupy|cuda-|librmm|rmm|libcu|cudf|numba|"
                   r"triton|bitsandbytes|xgboost|lightgbm|catboost|ctranslate2)")
NEAR = 4  # so many releases before and after a member's own
TRIES = 40


def members(env):
    """Each distribution's name and release, and its extras."""
    site = [os.path.join(env, "lib", d, "site-packages") for d in os.listdir(env + "/lib") if d.startswith("python3")]
    found = {}
    for d in metadata.distributions(path=site):
        name = re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower()
        if name != "pip":
            found[name] = (d.version, d.metadata.get_all("Provides-Extra") or [])
    return found


def companions():
    """What the tables name, with a release where they have some."""
    with open(DATA + "/extension.csv") as f:
        named = {(r["package"], r["release"]) for r in csv.DictReader(f)}
    with open(DATA + "/package.csv") as f:
        named |= {(r["package"], "") for r in csv.DictReader(f)}
    releases = {}
    for package, release in sorted(named):
        releases.setdefault(package, []).append(release)
    return releases


def near(python, name, own, dice):
    """A release near one's own; none where the index says none."""
    said = guardtruth.run([python, "-m", "pip", "index", "versions", name]).stdout
    match = re.search(r"Available versions: (.*)", said)
    every = match.group(1).split(", ") if match else []
    if own not in every:
        return None
    at = every.index(own)
    others = every[max(0, at - NEAR):at] + every[at + 1:at + 1 + NEAR]
    return dice.choice(others) if others else None


def known(paths):
    """Every name in the tables, the pool of the campaign and some lists."""
    texts = [os.path.join(DATA, t + ".csv") for t in ("extension", "package", "trait", "library")]
    return {w for p in texts + [guardtruth.CAMPAIGN + "/pool.txt"] + paths for w in re.findall(r"[a-z][a-z0-9-]+", open(p).read())}


def twins(name, names):
    """What the same project is called for another processor or CUDA, of the names that are known."""
    plain = re.sub(r"-(gpu|cpu)$", "", name)
    swapped = re.sub(r"(cu(?:da)?)(12|13)(?=x?$|-)", lambda m: m[1] + str(25 - int(m[2])), name)
    return sorted(({plain, plain + "-cpu", plain + "-gpu", swapped} - {name}) & names)


def drawn(env, here, beside, names, dice):
    """One change, or none where the kind has nothing here."""
    python = env + "/bin/python"
    heavy = [n for n in here if HEAVY.match(n)]
    name = dice.choice(sorted(heavy if dice.random() < 0.8 else here))
    own, extras = here[name]
    kind = dice.choice(["up", "near", "alone", "gone", "twin", "beside", "extra"])
    if kind == "up":
        return "install -U " + name
    if kind == "gone":
        return "uninstall " + name
    if kind == "twin":
        others = twins(name, names)
        return others and "install " + dice.choice(others)
    if kind == "beside":
        package = dice.choice(sorted(beside))
        release = dice.choice(beside[package])
        return "install " + package + ("==" + release if release and dice.random() < 0.5 else "")
    if kind == "extra":
        return extras and "install %s[%s]" % (name, dice.choice(sorted(extras)))
    other = near(python, name, own, dice)
    return other and "install %s%s==%s" % ("--no-deps " if kind == "alone" else "", name, other)


def changes_something(env, change):
    """Whether uv resolves it from wheels and would change a distribution."""
    if change.startswith("uninstall"):
        return True
    words = guardtruth.command(env, change) + ["--dry-run", "--only-binary", ":all:"]
    try:
        done = guardtruth.run(words, timeout=90)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and "Would " in done.stderr


def by_pip(change):
    verb, _, rest = change.partition(" ")
    return "pip %s %s" % ("uninstall -y" if verb == "uninstall" else verb, rest)


def main():
    listed, name, env, seed, wanted = sys.argv[1:6]
    packages = next(line for line in open(listed) if line.startswith(name + ": "))
    lists = [listed] + sys.argv[6:]
    former = {c for path in lists for changes in guardtruth.read(path)[1].values() for c in changes}
    names, dice, here, beside, found = known(lists), random.Random(seed + name), members(env), companions(), []
    for _ in range(TRIES):
        change = drawn(env, here, beside, names, dice)
        pip = dice.random() < 1 / 7
        if change and change not in former and change not in found and changes_something(env, change):
            found.append(by_pip(change) if pip else change)
        if len(found) == int(wanted):
            break
    print(packages + "".join("    %s\n" % change for change in found))


if __name__ == "__main__":
    main()
