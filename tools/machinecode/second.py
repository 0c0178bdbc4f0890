#!/usr/bin/env python3
"""Prints the machine code of libraries in the lines of main.go, read in another way.

It takes the file whole, searches every byte of the sections, unpacks what it finds, and has each suffix from the
code itself: of PTX from the text's .target line, of SASS from the cubin's note of the command that made it
("-arch sm_90a"), else, where the compiler wrote none, from its e_flags (bits 0x800 in ELF ABI 7, 0x8 in ABI 8 for
"a"). The rules for groups are those of internal/fatbin, written anew. It needs liblz4 and libzstd.

    python3 tools/machinecode/second.py libtensorflow_cc.so.2
"""

import collections
import ctypes
import ctypes.util
import mmap
import re
import struct
import sys

MAGIC = bytes.fromhex("50ed55ba01001000")
ALLOC, EXECUTABLE = 2, 4


def sections(m):
    """Yields name, type, flags, offset and size of the ELF file's sections."""
    (table,) = struct.unpack_from("<Q", m, 40)
    size, count, names = struct.unpack_from("<HHH", m, 58)
    heads = [struct.unpack_from("<IIQQQQ", m, table + i * size) for i in range(count)]
    strings = heads[names][4]
    for name, kind, flags, _, offset, length in heads:
        at = strings + name
        yield m[at : m.find(b"\0", at)].decode(), kind, flags, offset, length


LZ4 = ctypes.CDLL(ctypes.util.find_library("lz4") or "liblz4.so.1")


def unlz4(block, want):
    """Unpacks the beginning of an LZ4 block."""
    out = ctypes.create_string_buffer(want)
    n = LZ4.LZ4_decompress_safe_partial(block, out, len(block), want, want)
    return out.raw[: max(n, 0)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t)]


ZSTD = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
ZSTD.ZSTD_createDStream.restype = ctypes.c_void_p
ZSTD.ZSTD_decompressStream.restype = ctypes.c_size_t
ZSTD.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.POINTER(Buffer)]
ZSTD.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]


def unzstd(frame, want):
    """Unpacks the beginning of a zstd frame."""
    stream = ZSTD.ZSTD_createDStream()
    out, source = ctypes.create_string_buffer(want), ctypes.create_string_buffer(frame, len(frame))
    to = Buffer(ctypes.cast(out, ctypes.c_void_p), want, 0)
    of = Buffer(ctypes.cast(source, ctypes.c_void_p), len(frame), 0)
    ZSTD.ZSTD_decompressStream(stream, to, of)
    ZSTD.ZSTD_freeDStream(stream)
    return out.raw[: to.at]


def payload(m, at, length, packed, flags, full):
    """Gives an entry's payload, unpacked."""
    packed = packed or length
    if flags & 0x8000:
        return unzstd(m[at : at + packed], full)
    if flags & 0x2000:
        return unlz4(m[at : at + packed], full)
    return m[at : at + length]


def suffix_of_ptx(text, arch):
    found = re.search(rb"^\.target\s+sm_(\d+)([af]?)", text, re.M)
    return found[2].decode() if found and int(found[1]) == arch else ""


def suffix_of_cubin(cubin, arch):
    if cubin[:4] != b"\x7fELF":
        return None
    noted = re.search(rb"-arch(?:=|\s+)sm_(\d+)([af]?)\b", cubin)
    if noted and int(noted[1]) == arch:
        return noted[2].decode()
    abi, e_flags = cubin[8], struct.unpack_from("<I", cubin, 48)[0]
    return "a" if e_flags & {7: 0x800, 8: 0x8}.get(abi, 0) else ""


def container(m, at, end):
    """Lists the targets of the container at an offset, None among them for code that is linked at run time, and
    gives its end; None where it is none."""
    (size,) = struct.unpack_from("<Q", m, at + 8)
    at, stop, found = at + 16, at + 16 + size, []
    if stop > end:
        return None
    while at < stop:
        if stop - at < 64:
            return None
        kind, _, head, length, packed, _, minor, major, arch, _, _, flags = struct.unpack_from("<HHIQIIHHIIIQ", m, at)
        if head < 64 or head + length > stop - at or kind in (1, 2, 16) and arch > 999:
            return None
        if kind in (1, 2, 16):
            suffix = ""
            if arch >= 90:
                (full,) = struct.unpack_from("<Q", m, at + 56)
                inside = payload(m, at + head, length, packed, flags, full)
                suffix = suffix_of_ptx(inside, arch) if kind == 1 else suffix_of_cubin(inside, arch)
            if suffix is None:
                print(f"entry at {at:#x}: no cubin inside", file=sys.stderr)
                suffix = "?"
            name = f"compute_{arch}{suffix}" if kind == 1 else f"sm_{arch}{suffix}"
            found.append((name, (major, minor) if kind == 1 else None, bool(flags & 0x8000)))
        elif kind == 8:
            found.append(None)
        at += head + length
    return found, stop


def containers(m, offset, size):
    """Lists the containers of a section."""
    found, at, end = [], m.find(MAGIC, offset, offset + size), offset + size
    while at >= 0:
        one = container(m, at, end)
        if one:
            found.append(one[0])
        at = m.find(MAGIC, one[1] if one else at + 1, end)
    return found


def words(found, only=None):
    counts, versions, packed = collections.Counter(), {}, set()
    for one in found:
        one = [entry for entry in one if entry]
        counts.update({name for name, _, _ in one})
        for name, version, zstd in one:
            if version:
                versions[name] = max(version, versions.get(name, (0, 0)))
            if zstd:
                packed.add(name)
    names = (n for n in counts if only is None or n in only)
    return " ".join(
        sorted(
            f"{n}:{counts[n]}"
            + (":%d.%d" % versions[n] if n in versions else "")
            + (":zstd" if n in packed else "")
            for n in names
        )
    )


def lines(path):
    with open(path, "rb") as f:
        m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        listed = [s for s in sections(m) if s[1] == 1]
        own = [s for s in listed if "fatbin" in s[0] and "hip" not in s[0]]
        if not own and not any(s[0] == ".nvFatBinSegment" for s in listed):
            return
        rest = [s for s in listed if s not in own and s[2] & (ALLOC | EXECUTABLE) == ALLOC and "hip" not in s[0]]
        read = [(s[0], containers(m, s[3], s[4])) for s in own + sorted(rest, key=lambda s: s[3])]
        everything = [c for _, found in read for c in found]
        if everything:
            yield f"all {len(everything)} {words(everything)}".rstrip()
        for name, found in read:
            with_code = [c for c in found if c and None not in c]
            sets = collections.Counter(frozenset(n for n, _, _ in c) for c in with_code)
            if not sets or "relfatbin" in name:
                continue
            most, n = sets.most_common(1)[0]
            if n >= 10 and n >= 0.95 * len(with_code):
                yield f"group {name} {n} {words(with_code, most)}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for line in lines(name):
            print(line)
