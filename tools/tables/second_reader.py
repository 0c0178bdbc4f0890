#!/usr/bin/env python3
"""Read cells of the tables at their sources a second time, by a program that shares no code with tools/artefact.

    tools/tables/second_reader.py [--cells 60] [--seed 1]

Cells are drawn by the seed from the rows whose source is a wheel; the wheel is asked for by ranges at the index that
pip uses, and its file list, METADATA, version files and ELF sections say what the cell should be. Prints one line a
cell and exits 1 where a cell differs. By hand, before a release: it needs the index.
"""

import argparse
import csv
import io
import json
import pathlib
import random
import re
import struct
import sys
import urllib.request
import zipfile

from pip._internal.models.index import PyPI
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.specifiers import SpecifierSet
from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
LARGEST = 80 << 20  # bytes of a compressed member that is read whole


def fetch(url, span=None, accept=None):
    """The bytes of an address, or of a range of it (first and last byte)."""
    request = urllib.request.Request(url)
    if span:
        request.add_header("Range", "bytes=%d-%d" % span)
    if accept:
        request.add_header("Accept", accept)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read()


class Ranged(io.RawIOBase):
    """A remote file that zipfile can seek in."""

    def __init__(self, url, size):
        self.url, self.size, self.at, self.block = url, size, 0, (0, b"")

    def seekable(self):
        return True

    def readable(self):
        return True

    def seek(self, offset, whence=0):
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def tell(self):
        return self.at

    def readinto(self, into):
        start, held = self.block
        if not start <= self.at < start + len(held):
            last = min(self.size, self.at + max(len(into), 1 << 18)) - 1
            if last < self.at:
                return 0
            start, held = self.block = self.at, fetch(self.url, (self.at, last))
        part = held[self.at - start:][:len(into)]
        into[:len(part)] = part
        self.at += len(part)
        return len(part)


class Wheel:
    """One wheel of the index, and the other files of its release."""

    lists = {}

    def __init__(self, name, digest):
        self.project, self.version = parse_wheel_filename(name)[:2]
        if self.project not in self.lists:
            page = fetch(f"{PyPI.simple_url}/{self.project}/", accept="application/vnd.pypi.simple.v1+json")
            self.lists[self.project] = json.loads(page)["files"]
        (self.file,) = [f for f in self.lists[self.project] if f["filename"] == name]
        if self.file["hashes"]["sha256"] != digest:
            raise LookupError("the index has another sha256")
        size = self.file.get("size") or self.length()
        self.zip = zipfile.ZipFile(io.BufferedReader(Ranged(self.file["url"], size), 1 << 18))
        name = next(n for n in self.zip.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
        self.metadata = self.zip.read(name).decode()

    def length(self):
        request = urllib.request.Request(self.file["url"], method="HEAD")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.headers["Content-Length"])

    def requires(self):
        for line in re.findall(r"(?m)^Requires-Dist: *(.+)$", self.metadata):
            yield Requirement(line)

    def pins(self):
        """Version by name of what is required exactly, for Linux and without an extra."""
        return {canonicalize_name(r.name): str(r.specifier)[2:] for r in self.requires()
                if re.fullmatch(r"==[^,*]+", str(r.specifier)) and "extra" not in str(r.marker or "")}

    def siblings(self, platform):
        """The wheels of this release for a platform, not withdrawn."""
        for f in self.lists[self.project]:
            if not f["filename"].endswith(".whl"):
                continue
            _, version, _, tags = parse_wheel_filename(f["filename"])
            if version == self.version and any(platform.split("_", 1)[1] in t.platform and
                                               t.platform.startswith(("manylinux", "linux") if "linux" in platform else "win")
                                               for t in tags):
                yield tags

    def member(self, pattern):
        """The bytes of the one member whose path ends so; LookupError where there is none or it is too large."""
        found = [i for i in self.zip.infolist() if re.search(pattern, i.filename)]
        if len(found) != 1:
            raise LookupError(f"{len(found)} members are called {pattern}")
        if found[0].compress_size > LARGEST:
            raise LookupError(f"{found[0].filename} has {found[0].compress_size >> 20} MiB")
        return self.zip.read(found[0])


def pythons(wheel, platform):
    """cp310 and cp313t of the release's wheels as 3.10 and 3.13t."""
    found = set()
    for tags in wheel.siblings(platform):
        for t in tags:
            m = re.fullmatch(r"cp3(\d+)", t.interpreter)
            if m and not t.abi.startswith("abi"):
                found.add((int(m[1]), "t" if re.fullmatch(r"cp3\d+t", t.abi) else ""))
    return " ".join(f"3.{minor}{threads}" for minor, threads in sorted(found))


LEGACY = {"2010": (2, 12), "2014": (2, 17)}


def glibc(row, wheel, cell):
    """The least glibc that a tag of the wheel's own name asks for. PyTorch's manylinux1 and linux need more than they say."""
    found = []
    for part in wheel.file["filename"][:-4].split("-")[-1].split("."):
        if m := re.match(r"manylinux_(\d+)_(\d+)", part):
            found.append((int(m[1]), int(m[2])))
        elif m := re.match(r"manylinux(2010|2014)_", part):
            found.append(LEGACY[m[1]])
    if not found:
        raise Unsure("its tag names no glibc that can be believed")
    said = "%d.%d" % min(found)
    return said, said == cell


def code(image):
    """Targets of the machine code and PTX in an ELF file: the entries of its fat binaries, by their own headers."""
    sass, ptx = set(), set()
    at = image.find(b"\x50\xed\x55\xba")
    while at >= 0:
        version, header, size = struct.unpack_from("<HHQ", image, at + 4)
        inside, end = at + header, at + header + size
        if version == 1 and header == 16 and end <= len(image):
            while inside + 48 <= end:
                kind, _, head, length = struct.unpack_from("<HHIQ", image, inside)
                arch, = struct.unpack_from("<I", image, inside + 28)
                if kind not in (1, 2) or head < 48 or not 20 <= arch < 200:
                    break
                (ptx if kind == 1 else sass).add(arch)
                inside += head + length
        at = image.find(b"\x50\xed\x55\xba", at + 4)
    return sass, ptx


def numbers(cell, prefix):
    """"sm_80 sm_90a" as {80, 90}: a suffix stands elsewhere than the number that is compared."""
    return {int(n) for n in re.findall(prefix + r"(\d+)", cell)}


def same_range(a, b):
    return SpecifierSet(a) == SpecifierSet(b)


class Unsure(Exception):
    """This program has no second way to read the cell."""


def pinned(*names):
    def check(row, wheel, cell):
        found = [wheel.pins()[n] for n in names if n in wheel.pins()]
        if not found:
            raise Unsure("nothing of it is pinned")
        return found[0], found[0] == cell
    return check


def torch_cuda(row, wheel, cell):
    said = re.search(rb"cuda(?:: [^=]+)? = '([\d.]+)'", wheel.member(r"^torch/version\.py$"))[1].decode()
    return said, cell == said or cell.startswith(said + ".")


def python_cell(row, wheel, cell):
    if re.match(r"[<>=!~]", cell):
        said = re.search(r"(?m)^Requires-Python: *(.+)$", wheel.metadata)
        if not said:
            return None, False
        return said[1], same_range(re.sub(r",?<4(\.0)?\b|\b<4(\.0)?,?", "", said[1]).strip(", "), cell)  # there is no Python 4
    said = pythons(wheel, row.get("platform", "linux_x86_64"))
    return said, said == cell


def extension_torch(row, wheel, cell):
    wanted = [r for r in wheel.requires() if canonicalize_name(r.name) == "torch" and "extra" not in str(r.marker or "")]
    if not wanted:
        raise Unsure("torch is asked for by an extra or not at all")
    said = " | ".join(sorted({str(r.specifier) for r in wanted}))
    own = cell if re.match(r"[<>=!~]", cell) else "==" + cell
    return said, any(same_range(str(r.specifier), own) for r in wanted)


def extension_code(prefix):
    def check(row, wheel, cell):
        names = re.findall(r"\S+\.so\S*", row["verified"])
        if len(names) != 1:
            raise Unsure("read from no or several libraries")
        sass, ptx = code(wheel.member("(^|/)" + re.escape(names[0]) + "$"))
        said = sass if prefix == "sm_" else ptx
        own = set() if cell == "none" else numbers(cell, prefix)
        return sorted(said), said == own if prefix == "sm_" or not own else max(said, default=0) in own
    return check


def listed(row, wheel, cell):
    said = {r.name.lower().replace("_", "-") for r in wheel.requires()}
    if not any(n.startswith("nvidia-") for n in said):
        raise Unsure("its wheel asks for none: another part of the release does")
    own = {re.match(r"[\w.-]+", p)[0] for p in re.findall(r"[a-z][^ ]*", cell)}
    return sorted(own - said), own <= said


def library_name(row, wheel, cell):
    said = [n for n in wheel.zip.namelist() if n.endswith("/" + cell)]
    return said, bool(said)


def ptxas(row, wheel, cell):
    said = re.search(rb"V(\d+\.\d+\.\d+)", wheel.member(r"backends/nvidia/bin/ptxas$"))[1].decode()
    return said, said == cell


def own_version(row, wheel, cell):
    return str(wheel.version), str(wheel.version) == cell


# What this program can read of each table: how, by column.
READERS = {
    "torch": {"nccl": pinned("nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13"),
              "cudnn": pinned("nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13"),
              "triton": pinned("triton"), "cuda": torch_cuda, "python": python_cell,
              "glibc": glibc},
    "extension": {"torch": extension_torch, "python": python_cell,
                  "sass": extension_code("sm_"), "ptx": extension_code("compute_")},
    "tensorflow": {"python": python_cell, "packages": listed,
                   "glibc": glibc},
    "jax": {"python": python_cell, "packages": listed,
            "glibc": glibc},
    "library": {"name": library_name, "pip": lambda row, wheel, cell: (wheel.project, wheel.project in cell.split())},
    "cudnn": {"build": own_version}, "nccl": {"release": own_version}, "triton": {"ptxas": ptxas},
}


def named_wheel(row):
    """The wheel that the row's own project is read from: the first that its source names."""
    m = re.search(r"wheel (\S+\.whl) sha256:([0-9a-f]{64})", row["source"])
    if not m:
        raise Unsure("its source is no wheel")
    if "platform" in row and not any(p in m[1] for p in (row["platform"], row["platform"].split("_", 1)[1])):
        raise Unsure("its wheel is of another platform")
    return Wheel(m[1], m[2])


def draw(cells, seed):
    """The cells, by a seed: each table that can be read has its share."""
    dice = random.Random(seed)
    tables = {t: [r for r in csv.DictReader(open(DATA / f"{t}.csv", newline="")) if "wheel " in r["source"]]
              for t in READERS}
    while cells:
        table = dice.choice(sorted(READERS))
        row, column = dice.choice(tables[table]), dice.choice(sorted(READERS[table]))
        if row[column]:
            cells = yield table, row, column, row[column]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cells", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    left, differ, unsure = options.cells, 0, 0
    drawn = draw(True, options.seed)
    cell = next(drawn)
    while left and unsure < 10 * options.cells:
        table, row, column, value = cell
        key = " ".join(row[c] for c in list(row)[:3])
        try:
            said, same = READERS[table][column](row, named_wheel(row), value)
        except (Unsure, LookupError, zipfile.BadZipFile) as why:
            unsure += 1
            print(f"-    {table} {key}: {column}: {why}", file=sys.stderr)
        else:
            left -= 1
            differ += not same
            print(f"{'same' if same else 'DIFFERS'} {table} {key}: {column} {value}" + ("" if same else f"; the wheel: {said}"))
        cell = drawn.send(True)
    print(f"{options.cells - left} cells read, {differ} differ, {unsure} drawn that it cannot read (seed {options.seed})")
    return 1 if differ or left else 0


if __name__ == "__main__":
    sys.exit(main())
