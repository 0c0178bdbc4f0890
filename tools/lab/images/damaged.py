#!/usr/bin/env python3
"""Compares `check IMAGE` with `doctor --root` on the same files, for an image and damaged copies of it.

    damaged.py [--sound] CUDACOMPAT WORK ROOT... [-- FLAGS]

Each ROOT is a directory that becomes a layer, such as a Debian of mmdebstrap and what `pip install --target` put into
another directory. WORK is an empty directory with room for all of them twice, on the file system of the roots. Each
damage is one more layer; the same is done to a copy of the tree by hard links, where nothing of cudacompat unpacks
anything. FLAGS go to both commands; without any, --gpu L4 --driver 535.183.01.

The sound image is read as a layout, as an archive of it on standard input, and as an archive of docker save on standard
input. Damaged ones are read in these forms by turns; a damage to what an image lacks is left out, and --sound leaves all
of them out.

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
import threading

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


class Packed:
    """A layer that is packed by zstd as it is written."""

    def __init__(self, path):
        self.plain, self.size = hashlib.sha256(), 0
        self.file = open(path, "wb")
        self.zstd = subprocess.Popen(["zstd", "-1", "-q", "-c"], stdin=subprocess.PIPE, stdout=self.file)

    def write(self, data):
        self.plain.update(data)
        self.size += len(data)
        return self.zstd.stdin.write(data)

    def close(self):
        self.zstd.stdin.close()
        self.zstd.wait()
        self.file.close()


class Image:
    """An OCI layout whose layers are packed by zstd."""

    def __init__(self, work):
        self.blobs = work / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)
        self.work = work

    def blob(self, data, kind):
        digest = hashlib.sha256(data).hexdigest()
        (self.blobs / digest).write_bytes(data)
        return {"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + digest, "size": len(data)}

    def layer(self, write):
        """Its digest as it is stored, its digest and its size unpacked."""
        temporary = self.work / "layer"
        packed = Packed(temporary)
        with tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            write(tar)
        packed.close()
        with open(temporary, "rb") as f:
            digest = hashlib.file_digest(f, "sha256").hexdigest()
        os.replace(temporary, self.blobs / digest)
        return digest, packed.plain.hexdigest(), packed.size

    def write(self, layers):
        self.layers = layers
        self.config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {
            "type": "layers", "diff_ids": ["sha256:" + plain for _, plain, _ in layers]}}).encode()
        manifest = self.blob(json.dumps({"schemaVersion": 2, "config": self.blob(self.config, "config.v1+json"), "layers": [
            {"mediaType": "application/vnd.oci.image.layer.v1.tar+zstd", "digest": "sha256:" + digest,
             "size": (self.blobs / digest).stat().st_size} for digest, _, _ in layers]}).encode(), "manifest.v1+json")
        (self.work / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        (self.work / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))

    def docker(self, out):
        """Writes the image as docker save does: plain layers, the list of them last."""
        def add(name, size, data):
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, data)
        with tarfile.open(fileobj=out, mode="w|") as tar:
            for digest, plain, size in self.layers:
                with subprocess.Popen(["zstd", "-d", "-q", "-c", self.blobs / digest], stdout=subprocess.PIPE) as zstd:
                    add(f"{plain}/layer.tar", size, zstd.stdout)
            config = hashlib.sha256(self.config).hexdigest() + ".json"
            manifest = json.dumps([{"Config": config, "Layers": [f"{plain}/layer.tar" for _, plain, _ in self.layers]}]).encode()
            add(config, len(self.config), io.BytesIO(self.config))
            add("manifest.json", len(manifest), io.BytesIO(manifest))


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
FORMS = ["layout", "stream", "docker"]


@contextlib.contextmanager
def opened(form, image):
    """The name by which an image is given, and what is on standard input."""
    if form == "layout":
        yield str(image.work), None
        return
    if form == "stream":
        tar = ["tar", "-C", image.work, "-cf", "-", "index.json", "oci-layout", "blobs"]
        with subprocess.Popen(tar, stdout=subprocess.PIPE) as writer:
            yield "-", writer.stdout
        return
    read, write = os.pipe()
    with open(write, "wb") as out, open(read, "rb") as into:
        def save():
            with out:
                image.docker(out)
        writer = threading.Thread(target=save)
        writer.start()
        yield "-", into
        writer.join()


def there(tree, damage):
    """Whether the tree has what a damage is done to."""
    names = damage.get("gone", []) + damage.get("empty", []) + [
        name if how[0] == "cut" else how[1] for name, how in damage.get("write", {}).items() if how[0] in ("cut", "copy")]
    return all((tree / n).exists() for n in names)


def main():
    arguments, flags = sys.argv[1:], ["--gpu", "L4", "--driver", "535.183.01"]
    if "--" in arguments:
        at = arguments.index("--")
        arguments, flags = arguments[:at], arguments[at + 1:]
    sound = arguments[0] == "--sound"
    arguments = arguments[sound:]
    program, work, roots = arguments[0], pathlib.Path(arguments[1]), [pathlib.Path(r) for r in arguments[2:]]
    image = Image(work)
    tree = work / "tree"
    for root in roots:
        subprocess.run(["cp", "-al", f"{root}/.", tree], check=True)
    layers = [image.layer(lambda tar, root=root: tar.add(root, arcname=".")) for root in roots]
    wrong = turn = 0
    for name, damage in DAMAGES.items():
        if sound and damage or not there(tree, damage):
            continue
        image.write(layers + [image.layer(lambda tar: write_damage(tar, tree, damage))])
        damaged = work / "damaged"
        subprocess.run(["cp", "-al", tree, damaged], check=True)
        do_damage(damaged, damage)
        want, _, _ = run([program, "doctor", "--root", str(damaged), "--timeout", "10m", "-o", "json"] + flags)
        shutil.rmtree(damaged)
        turn += 1
        for form in FORMS if not damage else [FORMS[turn % len(FORMS)]]:
            with opened(form, image) as (source, stdin):
                have, cpu, memory = run([program, "check", source, "--timeout", "10m", "-o", "json"] + flags, stdin)
            have["passed"] = [p for p in have["passed"] if p["rule"] not in CONFIGURATION]
            different = [d for d in differences(have, want) if not d.startswith((".facts.image", ".facts.variables"))]
            wrong += len(different)
            print(f"{name:34} {form:8} {have['outcome']:13} {'same' if not different else ' '.join(different[:8]):20} "
                  f"{cpu:5.1f} s {memory:4.0f} MB", flush=True)
        for blob in image.blobs.iterdir():
            if blob.name not in [digest for digest, _, _ in layers]:
                blob.unlink()
    sys.exit(min(wrong, 1))


if __name__ == "__main__":
    main()
