#!/usr/bin/env python3
"""Compares `check IMAGE` with `doctor --root` on the same files, for an image and damaged copies of it.

    damaged.py CUDACOMPAT WORK ROOT... [-- FLAGS]

Each ROOT is a directory that becomes a layer, such as a Debian of mmdebstrap and what `pip install --target` put into
another directory. WORK is an empty directory with room for all of them twice, on the file system of the roots. Each
damage is one more layer; the same is done to a copy of the tree by hard links, where nothing of cudacompat unpacks
anything. FLAGS go to both commands; without any, --gpu L4 --driver 535.183.01.

The sound image is read as a layout, as an archive on standard input, and as skopeo writes it: an archive of layers
packed by gzip, and one for Docker on standard input. Damaged ones are read as a layout and on standard input by turns.

It prints a line for each: the outcome, what differs in outcome, answers, findings, unknown, passed and facts, CPU
seconds and the peak of memory. Exit code 1 if anything differs but facts.image and facts.variables.
"""
import contextlib
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

SITE = "usr/local/lib/python3.11/dist-packages/"
LIB = SITE + "torch/lib/"

# Each damage: what is deleted (names), emptied (directories), and written (name: bytes, or (link, to)).
DAMAGES = {
    "as it is": {},
    "libtorch_cuda.so is deleted": {"gone": [LIB + "libtorch_cuda.so"]},
    "libtorch_cuda.so is cut short": {"write": {LIB + "libtorch_cuda.so": ("cut", 50_000_000)}},
    "libc10_cuda.so is zeros": {"write": {LIB + "libc10_cuda.so": b"\0" * 4096}},
    "cuDNN's directory is deleted": {"gone": [SITE + "nvidia/cudnn"]},
    "cuDNN's directory is emptied": {"empty": [SITE + "nvidia/cudnn/lib"]},
    "version.py of another release": {"write": {SITE + "torch/version.py": b"__version__ = '2.4.0+cu118'\ncuda = '11.8'\n"}},
    "nccl's METADATA of an older one": {"write": {SITE + "nvidia_nccl_cu12-2.27.3.dist-info/METADATA":
                                                 b"Metadata-Version: 2.1\nName: nvidia-nccl-cu12\nVersion: 2.20.5\n"}},
    "cuBLAS is a link in a circle": {"write": {SITE + "nvidia/cublas/lib/libcublas.so.12": ("link", "libcublas.so.12")}},
    "torch's metadata is deleted": {"gone": [SITE + "torch-2.8.0.dist-info"]},
    "triton is deleted": {"gone": [SITE + "triton", SITE + "triton-3.4.0.dist-info"]},
    "libc.so.6 is deleted": {"gone": ["usr/lib/x86_64-linux-gnu/libc.so.6"]},
    "a cuda-compat by hand": {"write": {"usr/local/cuda/compat/libcuda.so.1": ("link", "libcuda.so.575.57.08"),
                                        "usr/local/cuda/compat/libcuda.so.575.57.08": ("copy", LIB + "libc10.so"),
                                        "etc/ld.so.conf.d/000_cuda.conf": b"/usr/local/cuda/compat\n"}},
}


def digest_of(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


class Image:
    """An OCI layout whose plain layers are files of one directory."""

    def __init__(self, work):
        self.blobs = work / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)
        self.work = work
        self.layers = []

    def blob(self, data):
        digest = hashlib.sha256(data).hexdigest()
        (self.blobs / digest).write_bytes(data)
        return {"mediaType": "", "digest": "sha256:" + digest, "size": len(data)}

    def layer(self, write):
        temporary = self.work / "layer"
        with tarfile.open(temporary, "w", format=tarfile.PAX_FORMAT) as tar:
            write(tar)
        digest = digest_of(temporary)
        os.replace(temporary, self.blobs / digest)
        return digest

    def write(self, layers):
        config = self.blob(json.dumps({"architecture": "amd64", "os": "linux", "config": {},
                                       "rootfs": {"type": "layers", "diff_ids": ["sha256:" + d for d in layers]}}).encode())
        config["mediaType"] = "application/vnd.oci.image.config.v1+json"
        manifest = self.blob(json.dumps({"schemaVersion": 2, "config": config, "layers": [
            {"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": "sha256:" + d,
             "size": (self.blobs / d).stat().st_size} for d in layers]}).encode())
        manifest["mediaType"] = "application/vnd.oci.image.manifest.v1+json"
        (self.work / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        (self.work / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))


def write_damage(tar, tree, damage):
    def add(name, data=b"", **header):
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o755
        for key, value in header.items():
            setattr(info, key, value)
        tar.addfile(info, io.BytesIO(data))
    for name in damage.get("gone", []):
        folder, base = os.path.split(name)
        add(f"{folder}/.wh.{base}")
    for name in damage.get("empty", []):
        add(f"{name}/.wh..wh..opq")
    for name, data in damage.get("write", {}).items():
        if isinstance(data, bytes):
            add(name, data)
        elif data[0] == "link":
            add(name, type=tarfile.SYMTYPE, linkname=data[1])
        elif data[0] == "cut":
            with open(tree / name, "rb") as f:
                add(name, f.read(data[1]))
        else:
            add(name, (tree / data[1]).read_bytes())


def do_damage(tree, damage):
    """The same in a tree, of which no file is written to: other trees share it."""
    for name in damage.get("gone", []):
        path = tree / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name in damage.get("empty", []):
        shutil.rmtree(tree / name)
        (tree / name).mkdir()
    for name, data in damage.get("write", {}).items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, tuple) and data[0] == "cut":
            with open(path, "rb") as f:
                data = f.read(data[1])
        elif isinstance(data, tuple) and data[0] == "copy":
            data = (tree / data[1]).read_bytes()
        if path.is_symlink() or path.exists():
            path.unlink()
        if isinstance(data, bytes):
            path.write_bytes(data)
            path.chmod(0o755)
        else:
            path.symlink_to(data[1])


def run(command, stdin=None):
    """What a command decides, its CPU seconds and its peak of memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=stdin)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    try:
        report = json.loads(out)
    except ValueError:
        sys.exit(f"{command}: {err.decode()}")
    return report, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def differences(image, tree, path=""):
    if isinstance(image, dict) and isinstance(tree, dict):
        found = []
        for key in sorted(set(image) | set(tree)):
            if key == "seconds":
                continue
            if key not in image or key not in tree:
                found.append(f"{path}.{key}")
            else:
                found += differences(image[key], tree[key], f"{path}.{key}")
        return found
    if isinstance(image, list) and isinstance(tree, list) and len(image) == len(tree):
        return [d for i, (a, b) in enumerate(zip(image, tree)) for d in differences(a, b, f"{path}[{i}]")]
    return [] if image == tree else [path]


# What the configuration tells, and no file does: for which platform the image is.
CONFIGURATION = ["architecture-mismatch"]
FORMS = ["layout", "stream", "archive", "docker"]


@contextlib.contextmanager
def opened(form, work):
    """The name by which an image is given, and what is on standard input."""
    archive = work / "archive.tar"
    if form == "layout":
        yield str(work), None
    elif form == "archive":
        subprocess.run(["skopeo", "copy", "-q", "--dest-compress", "--dest-compress-format", "gzip", "--dest-compress-level", "1",
                        f"oci:{work}", f"oci-archive:{archive}"], check=True)
        yield str(archive), None
        archive.unlink()
    else:
        command = {"stream": ["tar", "-C", work, "-cf", "-", "index.json", "oci-layout", "blobs"],
                   "docker": ["skopeo", "copy", "-q", f"oci:{work}", "docker-archive:/dev/stdout"]}[form]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            yield "-", writer.stdout


def main():
    arguments, flags = sys.argv[1:], ["--gpu", "L4", "--driver", "535.183.01"]
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1:]
    program, work, roots = arguments[0], pathlib.Path(arguments[1]), [pathlib.Path(r) for r in arguments[2:]]
    image = Image(work)
    tree = work / "tree"
    for root in roots:
        subprocess.run(["cp", "-al", f"{root}/.", tree], check=True)
    layers = [image.layer(lambda tar, root=root: tar.add(root, arcname=".")) for root in roots]
    wrong = turn = 0
    for name, damage in DAMAGES.items():
        image.write(layers + [image.layer(lambda tar: write_damage(tar, tree, damage))])
        damaged = work / "damaged"
        subprocess.run(["cp", "-al", tree, damaged], check=True)
        do_damage(damaged, damage)
        want, _, _ = run([program, "doctor", "--root", str(damaged), "--timeout", "10m", "-o", "json"] + flags)
        shutil.rmtree(damaged)
        turn += 1
        for form in FORMS if not damage else FORMS[turn % 2:][:1]:
            with opened(form, work) as (source, stdin):
                have, cpu, memory = run([program, "check", source, "--timeout", "10m", "-o", "json"] + flags, stdin)
            have["passed"] = [p for p in have["passed"] if p["rule"] not in CONFIGURATION]
            different = [d for d in differences(have, want) if not d.startswith((".facts.image", ".facts.variables"))]
            wrong += len(different)
            print(f"{name:34} {form:8} {have['outcome']:13} {'same' if not different else ' '.join(different[:8]):20} "
                  f"{cpu:5.1f} s {memory:4.0f} MB", flush=True)
        for blob in image.blobs.iterdir():
            if blob.name not in layers:
                blob.unlink()
    sys.exit(min(wrong, 1))


main()
