#!/usr/bin/env python3
"""Live machines that are not there: each situation is a root, a /proc, a /sys and device nodes under bwrap, with a fake
NVML, so that `cudacompat doctor` runs as on a real host or in a real container. Needs bwrap and gcc, and root for a few.

    python3 kit.py BINARY [NAME…]          # runs them all, prints those whose answer is not what it must be
    python3 kit.py BINARY -v NAME          # prints the screen too
    python3 kit.py BINARY trees DIR        # writes the files of each as a tree
    python3 kit.py BINARY record DIR       # writes what `probe` says inside each, for systems without namespaces, and inside
                                           # the sound machines that matrix's cases are patches over, into matrix/testdata

situations.py, drivers.py and machines.py have the lists."""
import csv, json, os, re, shutil, struct, subprocess, sys, tempfile

from patches import difference, patched, show

HERE = os.path.dirname(os.path.abspath(__file__))
LIB = "/usr/lib/x86_64-linux-gnu"
OS = {"ubuntu": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n',
      "al2023": 'PRETTY_NAME="Amazon Linux 2023.9"\nNAME="Amazon Linux"\nVERSION="2023"\nID="amzn"\nID_LIKE="fedora"\nVERSION_ID="2023"\n',
      "rhel9": 'PRETTY_NAME="Red Hat Enterprise Linux 9.6"\nNAME="Red Hat Enterprise Linux"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.6"\n',
      "nixos": 'PRETTY_NAME="NixOS 25.05"\nNAME=NixOS\nID=nixos\nVERSION_ID="25.05"\n'}
KERNEL = {"ubuntu": "6.8.0-1021-aws", "al2023": "6.1.155-176.282.amzn2023.x86_64", "rhel9": "5.14.0-570.12.1.el9_6.x86_64", "nixos": "6.12.40"}
NVML = r'''
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
typedef void *dev; typedef struct { char legacy[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; } pci;
int nvmlInit_v2(void) { if (SLOW) sleep(SLOW); if (LATE && access("/proc/driver/nvidia/version", F_OK)) return 9; if (INIT) return INIT; if (WSL || getenv("NVML_CALLS")) return 0; int fd = open("/dev/nvidiactl", O_RDONLY); if (fd < 0) return errno == EACCES ? 4 : errno == ENOENT ? 9 : 999; close(fd); return 0; }
int nvmlSystemGetDriverVersion(char *o, unsigned n) { snprintf(o, n, VERSION); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *o) { *o = CUDA; return 0; }
int nvmlDeviceGetCount_v2(unsigned *o) { *o = COUNT; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, dev *o) { if (HANDLE && (LOST < 0 || i == LOST)) return HANDLE; *o = (dev)(long)(i + 1); return 0; }
int nvmlDeviceGetName(dev d, char *o, unsigned n) { snprintf(o, n, NAME); return 0; }
int nvmlDeviceGetCudaComputeCapability(dev d, int *a, int *b) { *a = MAJOR; *b = MINOR; return 0; }
int nvmlDeviceGetPciInfo_v3(dev d, pci *o) { memset(o, 0, sizeof *o); o->device = FIRST - 1 + (int)(long)d; o->id = PCI;
  snprintf(o->legacy, 16, "0000:00:%02X.0", o->device); snprintf(o->bus_id, 32, "00000000:00:%02X.0", o->device); return 0; }
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory;
int nvmlDeviceGetMemoryInfo_v2(dev d, memory *o) { o->total = 24ULL << 30; o->reserved = 500ULL << 20; o->used = 0; o->free = o->total - o->reserved; return 0; }
int nvmlDeviceGetMinorNumber(dev d, unsigned *o) { *o = (int)(long)d - 1; return 0; }
int nvmlDeviceGetBrand(dev d, int *o) { *o = 14; return 0; }
int nvmlDeviceGetComputeMode(dev d, int *o) { *o = MODE; return 0; }
int nvmlDeviceGetMigMode(dev d, unsigned *c, unsigned *p) { if (!MIG) return 3; *c = *p = 1; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(dev d, unsigned *o) { *o = MIG ? 7 : 0; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(dev d, unsigned i, dev *o) { if (i < INSTANCES) { *o = (dev)(long)(100 + i); return 0; } return 6; }
typedef struct { unsigned field, scope; long long at, took; unsigned type; int ret; union { unsigned u; unsigned long long ull; } value; } field;
int nvmlDeviceGetFieldValues(dev d, int n, field *v) { for (int i = 0; i < n; i++) { v[i].ret = v[i].field == 230 ? 0 : 3; v[i].type = 1; v[i].value.u = RECOVERY; } return 0; }
typedef struct { unsigned environment, feature, devtools; } confidential;
int nvmlSystemGetConfComputeState(confidential *o) { memset(o, 0, sizeof *o); o->feature = CONFIDENTIAL; return 0; }
int nvmlSystemGetConfComputeGpusReadyState(unsigned *o) { *o = READY; return 0; }
int nvmlDeviceQueryDrainState(pci *p, int *o) { if (p->bus_id[0] != '0' || DRAINED < 0) return 3; *o = p->device == FIRST + DRAINED; return 0; }
typedef struct { unsigned char uuid[16]; int status; unsigned clique; unsigned char state; } fabric;
int nvmlDeviceGetGpuFabricInfo(dev d, fabric *o) { if (FABRIC < 0) return 3; memset(o, 0, sizeof *o); o->state = FABRIC; o->status = FSTATUS; return 0; }
'''
# Its calls fail as NVML_FAULT says; where they do, a tree is looked at that has no nodes of its own.
with open(f"{HERE}/../../probe/internal/nvml/nvmltest/testdata/fault.h") as f: NVML = f.read() + re.sub(r"(?m)^(int nvml\w+\([^)]*\) {)", r"\1 FAULT", NVML)
# How a sound NVML answers; LOST is the GPU that HANDLE is about, -1 all of them. SLOW is how many seconds it takes, LATE
# makes it look for the module.
WELL = {"INIT": 0, "HANDLE": 0, "LOST": -1, "MODE": 0, "MIG": 0, "INSTANCES": 0, "RECOVERY": 0, "CONFIDENTIAL": 0, "READY": 0, "WSL": 0, "FABRIC": -1, "FSTATUS": 0, "DRAINED": -1, "SLOW": 0, "LATE": 0}


def fatbin(targets, ptx_isa):
    """A fat binary with one container: code for the targets, "sm_90" or "compute_90" (no payload)."""
    minor, major = int(ptx_isa.split(".")[1]), int(ptx_isa.split(".")[0])
    entry = lambda name, number: struct.pack("<HHIQIIHHIIIQQQ", *((1, 0x101, 64, 0, 0, 0, minor, major) if name == "compute" else (2, 0x101, 64, 0, 0, 0, 7, 1)), int(number), 64, 0, 0x11, 0, 0)
    entries = b"".join(entry(*t.split("_")) for t in targets)
    data = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
    return f'const unsigned char f[] __attribute__((section(".nv_fatbin"), used, aligned(8))) = {{{", ".join(map(str, data))}}};'


GPUS = {"L4": ("27b8", "NVIDIA L4", 8, 9, "g6.xlarge"), "T4": ("1eb8", "Tesla T4", 7, 5, "g4dn.xlarge"),
        "V100": ("1db1", "Tesla V100-SXM2-16GB", 7, 0, "p3.2xlarge"), "H100": ("2330", "NVIDIA H100 80GB HBM3", 9, 0, "p5.4xlarge"),
        "P100": ("15f8", "Tesla P100-PCIE-16GB", 6, 0, ""), "A100": ("20b0", "NVIDIA A100-SXM4-40GB", 8, 0, ""), "A100-PCIe": ("20f1", "NVIDIA A100-PCIE-40GB", 8, 0, ""),
        "A10G": ("2237", "NVIDIA A10G", 8, 6, "g5.xlarge"), "B200": ("2901", "NVIDIA B200", 10, 0, ""), "RTX4090": ("2684", "NVIDIA GeForce RTX 4090", 8, 9, ""),
        "RTX5090": ("2b85", "NVIDIA GeForce RTX 5090", 12, 0, "")}
# The cuBLAS that torch requires, by its CUDA: as in the METADATA of its wheels.
CUBLAS = {"11.8": "11.11.3.6", "12.1": "12.1.3.1", "12.4": "12.4.5.8", "12.6": "12.6.4.1", "12.8": "12.8.4.1", "13.0": "13.0.0.19"}
CUDNN_PARTS = ("ops", "adv", "cnn", "graph", "engines_precompiled", "engines_runtime_compiled", "heuristic")


def table(name):
    """The rows of one of the tables."""
    with open(f"{HERE}/../../data/{name}.csv", newline="") as f: return list(csv.DictReader(f))


def wheel_of_torch(version):
    """A row of torch.csv: what the wheel was built for, and what of NVIDIA's it needs."""
    release, _, variant = version.partition("+")
    return next(r for r in table("torch") if (r["release"], r["variant"], r["platform"]) == (release, variant, "linux_x86_64"))


def cuda_of(driver):
    """The CUDA that a driver speaks, as NVML says it: the newest of its branch."""
    releases = [tuple(map(int, r["release"].split("."))) for r in table("cuda") if r["branch"] == driver.split(".")[0]]
    major, minor, _ = max(releases, default=(12, 4, 0)); return major * 1000 + minor * 10


def ptx_isa(cuda): return next(r["ptx_isa"] for r in table("cuda") if r["release"] == cuda)


def compiled(path, source="", *flags):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(["gcc", "-x", "c", "-w", *flags, "-o", path, "-"], input=source or "int stub;", text=True, check=True)


def shared_object(path, source="", soname="", defines=(), needs=(), rpath="$ORIGIN"):
    """A library: needs are the files of those that it names."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-O1", *([] if "#include" in source else ["-nostdlib"]), "-Wl,--disable-new-dtags,-rpath," + rpath,
                    *(["-Wl,-soname," + soname] if soname else []), *(f"-D{k}={v}" for k, v in defines),
                    "-o", path, "-x", "c", "-", "-x", "none", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", *needs],
                   input=source or "int stub;", text=True, check=True)


def nvidia_wheels(site, family, cuda, cudnn, nccl):
    """What torch's wheel requires of NVIDIA's, in the places of those wheels: the file that stands for each soname."""
    family_dir = {"cu13": lambda n: "nvidia/cu13/lib"}.get(family, lambda n: f"nvidia/{n}/lib")
    major = family[2:]
    sonames = {"cuda_runtime": {"13": "libcudart.so.13", "12": "libcudart.so.12", "11": "libcudart.so.11.0"}[major],
               "cublas": f"libcublas.so.{major}", "cublasLt": f"libcublasLt.so.{major}", "cufft": f"libcufft.so.{ {'13': 12, '12': 11, '11': 10}[major]}",
               "curand": "libcurand.so.10", "cusparse": f"libcusparse.so.{ {'13': 12, '12': 12, '11': 11}[major]}",
               "cusolver": f"libcusolver.so.{ {'13': 12, '12': 11, '11': 11}[major]}", "cuda_nvrtc": f"libnvrtc.so.{ {'13': 13, '12': 12, '11': '11.2'}[major]}"}
    made = {}
    if major != "11": sonames["nvJitLink"] = f"libnvJitLink.so.{major}"
    for name, soname in sonames.items():
        made[name] = f"{site}/{family_dir({'cublasLt': 'cublas', 'nvJitLink': 'nvjitlink'}.get(name, name))}/{soname}"
        shared_object(made[name], f"const char version[] = \"{soname}\";", soname)
    for name, soname in ("cudnn", "libcudnn.so.9"), ("nccl", "libnccl.so.2"), ("cusparselt", "libcusparseLt.so.0"):
        made[name] = f"{site}/nvidia/{name}/lib/{soname}"
        shared_object(made[name], f"const char version[] = \"{soname}\";", soname)
    for part in CUDNN_PARTS:
        shared_object(f"{site}/nvidia/cudnn/lib/libcudnn_{part}.so.9", "", f"libcudnn_{part}.so.9")
    for name, version in ("cudnn", cudnn), ("nccl", nccl):
        distribution(site, f"nvidia-{name}-{family}", version, [f"nvidia/{name}/lib/" + f for f in sorted(os.listdir(f"{site}/nvidia/{name}/lib"))])
    distribution(site, "nvidia-cublas" + ("" if family == "cu13" else "-" + family), CUBLAS[cuda], [os.path.relpath(made[n], site) for n in ("cublas", "cublasLt")])
    return made


def distribution(site, name, version, files, requires=(), tag="py3-none-manylinux_2_28_x86_64"):
    """The metadata of an installed wheel."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"; os.makedirs(f"{site}/{info}")
    put(f"{site}/{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires))
    put(f"{site}/{info}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n"); put(f"{site}/{info}/INSTALLER", "pip\n")
    put(f"{site}/{info}/RECORD", "".join(f"{f},,{os.path.getsize(f'{site}/{f}') if os.path.exists(f'{site}/{f}') else 7}\n" for f in files) + f"{info}/METADATA,,\n{info}/RECORD,,\n")


def put(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f: f.write(text)


SITES = {}


def torch_site(version, python):
    """A site-packages with the wheel of torch and what it requires, made once: situations link its files."""
    if (version, python) in SITES: return SITES[version, python]
    row = wheel_of_torch(version); tag = row["variant"].removeprefix("cu"); cuda = f"{tag[:-1]}.{tag[-1]}"
    family, cudnn, nccl, triton = "cu" + tag[:2], row["cudnn"], row["nccl"], row["triton"]
    code = fatbin(row["sass"].split() + row["ptx"].replace("none", "").split(), ptx_isa(row["cuda"]))
    site = SITES[version, python] = tempfile.mkdtemp(prefix="situations-site-"); os.chmod(site, 0o755); abi = "cpython-" + python.replace(".", "")
    nvidia = nvidia_wheels(site, family, cuda, cudnn, nccl); lib = site + "/torch/lib/"
    below = "cudnn nccl cusparselt cu13 cublas cuda_runtime cuda_nvrtc cufft curand cusolver cusparse nvjitlink".split()
    rpath = ":".join([f"$ORIGIN/../../nvidia/{n}/lib" for n in below] + ["$ORIGIN"])
    of = lambda *names: [f"{lib}lib{n}.so" for n in names]
    for name, source, needs in (("c10", "", []), ("shm", "", of("c10")), ("torch_cpu", "", of("c10")), ("c10_cuda", "", of("c10") + [nvidia["cuda_runtime"]]),
            ("torch_cuda", code, of("c10", "c10_cuda", "torch_cpu") + [p for n, p in nvidia.items() if n not in ("cusolver", "cuda_nvrtc")]),
            ("torch_cuda_linalg", "", of("torch_cuda") + [nvidia["cusolver"]]), ("caffe2_nvrtc", "", [nvidia["cuda_nvrtc"]]),
            ("torch", "", of("torch_cpu", "torch_cuda")), ("torch_python", "", of("torch", "shm", "c10_cuda", "c10"))):
        shared_object(f"{lib}lib{name}.so", source, f"lib{name}.so", needs=needs, rpath=rpath)
    shared_object(f"{site}/torch/_C.{abi}-x86_64-linux-gnu.so", "void PyInit__C(void) {}", needs=of("torch_python"), rpath="$ORIGIN/lib")
    put(site + "/torch/__init__.py"); put(site + "/torch/cuda/__init__.py")
    put(site + "/torch/version.py", f"from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = '{cuda}'\ngit_version = '0fabc3ba44823f257e70ce397d989c8de5e362c1'\nhip: Optional[str] = None\n")
    files = sorted(os.path.relpath(os.path.join(d, f), site) for d, _, names in os.walk(site + "/torch") for f in names)
    requires = [f"nvidia-cudnn-{family}=={cudnn}", f"nvidia-nccl-{family}=={nccl}", f"triton=={triton}", "sympy>=1.13.3"]
    distribution(site, "torch", version, files, requires, f"{abi.replace('cpython-', 'cp')}-{abi.replace('cpython-', 'cp')}-manylinux_2_28_x86_64")
    put(site + "/triton/__init__.py", f"__version__ = '{triton}'\n")
    assemblers = next(r for r in table("triton") if r["release"] == triton)
    for name, release in ("ptxas", assemblers["ptxas"]), ("ptxas-blackwell", assemblers["ptxas_blackwell"]):
        banner = f"Cuda compilation tools, release {release.rpartition('.')[0]}, V{release}"
        if release: compiled(f"{site}/triton/backends/nvidia/bin/{name}", f'const char *banner = "{banner}"; int main(void) {{ return banner[0]; }}')
    distribution(site, "triton", triton, ["triton/__init__.py"], (), f"{abi.replace('cpython-', 'cp')}-{abi.replace('cpython-', 'cp')}-manylinux_2_27_x86_64")
    return site


def installed_site(requirements):
    """A directory with real wheels, made once; SITUATIONS_WHEELS names where they are kept for the next run."""
    if requirements in SITES: return SITES[requirements]
    kept = os.environ.get("SITUATIONS_WHEELS"); name = slug(" ".join(requirements))
    site = f"{kept}/{name}" if kept else SITES.setdefault(requirements, tempfile.mkdtemp(prefix="situations-site-"))
    if not os.path.isdir(site + "/bin"):
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--only-binary", ":all:", "--python-version", "3.12", "--target", site, *requirements], check=True)
    return site


def forget():
    for site in SITES.values(): shutil.rmtree(site, ignore_errors=True)


class Machine:
    """A host with one GPU, a driver and a whole torch; the situations damage it."""

    def __init__(self, os_="ubuntu", gpu="L4", driver="580.95.05", torch="2.9.0+cu130", count=1, instance=None, **nvml):
        self.dir = tempfile.mkdtemp(prefix="situation-"); self.os, self.gpu, self.driver = os_, gpu, driver
        self.count, self.first = count, 0x1f - count; self.site = None; self.isolated = False; self.user = 0
        self.kernel = KERNEL[os_]; self.nodes = {n: "/dev/null" for n in ["nvidiactl", "nvidia-uvm"] + [f"nvidia{i}" for i in range(count)]}
        self.env, self.extra, self.lib = {}, [], LIB if os_ == "ubuntu" else "/usr/lib64"
        self.nvml = {**WELL, "COUNT": count, "FIRST": self.first, **nvml}
        pci, name, major, minor, usual = GPUS[gpu]; self.instance = usual if instance is None else instance
        self.root("/etc/os-release", OS[os_]); self.root("/usr/bin/.keep")
        self.proc("/sys/kernel/osrelease", self.kernel + "\n"); self.proc("/1/comm", "systemd\n"); self.proc("/1/cgroup", "0::/init.scope\n")
        self.proc("/uptime", "3600.00 7000.00\n"); self.proc("/self/cgroup", "0::/user.slice\n"); self.proc("/sys/kernel/modules_disabled", "0\n")
        self.status(); self.proc("/self/uid_map", "0 0 4294967295\n")
        self.mounts("22 1 259:1 / / rw - ext4 /dev/root rw", "23 22 0:21 / /proc rw - proc proc rw", "24 22 0:22 / /sys rw - sysfs sysfs rw", "25 22 0:5 / /dev rw - devtmpfs devtmpfs rw")
        # The nodes are /dev/null's: major 1.
        self.proc("/devices", "Character devices:\n  1 mem\n  1 nvidia\n  1 nvidia-uvm\n  1 nvidia-caps\n\nBlock devices:\n  7 loop\n"); self.sys("/module/nvidia_uvm/refcnt", "2\n")
        self.limits(); self.link(self.dir + "/proc/self/exe", "/usr/bin/cudacompat")
        self.sys("/devices/virtual/dmi/id/sys_vendor", "Amazon EC2\n"); self.sys("/devices/virtual/dmi/id/product_name", self.instance + "\n")
        self.sys("/bus/pci/drivers/nvidia/.keep")
        for i in range(count):
            slot = self.slot(i); d = f"/bus/pci/devices/{slot}"
            for f, v in ("vendor", "0x10de"), ("device", "0x" + pci), ("class", "0x030200"): self.sys(f"{d}/{f}", v + "\n")
            self.bound(i, "nvidia"); self.information(i)
        self.module(driver); self.on_disk(driver); self.userland(driver)
        if torch: self.torch(torch)
        for f in "gsp_ga10x.bin", "gsp_tu10x.bin": self.root(f"/lib/firmware/nvidia/{driver}/{f}", "x")
        self.root(f"/boot/vmlinuz-{self.kernel}", "x"); self.root("/usr/bin/nvidia-modprobe", "x"); os.chmod(self.dir + "/root/usr/bin/nvidia-modprobe", 0o4755)

    def link(self, path, to):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path): os.unlink(path)
        os.symlink(to, path)
    def root(self, path, text=""): put(self.dir + "/root" + path, text); return self
    def proc(self, path, text=""): put(self.dir + "/proc" + path, text); return self
    def sys(self, path, text=""): put(self.dir + "/sys" + path, text); return self
    def gone(self, *paths):
        """Takes away files and directories of the root."""
        for path in paths:
            p = self.dir + "/root" + path; shutil.rmtree(p) if os.path.isdir(p) and not os.path.islink(p) else os.path.lexists(p) and os.unlink(p)
        return self
    def slot(self, i): return f"0000:00:{self.first + i:02x}.0"
    def bound(self, i, driver):
        self.sys(f"/bus/pci/drivers/{driver}/.keep"); self.link(f"{self.dir}/sys/bus/pci/devices/{self.slot(i)}/driver", f"../../../../bus/pci/drivers/{driver}")
    def information(self, i, excluded="No"):
        return self.proc(f"/driver/nvidia/gpus/{self.slot(i)}/information", f"Model: \t\t {GPUS[self.gpu][1]}\nDevice Minor: \t {i}\nGPU Firmware: \t {self.driver}\nGPU Excluded:\t {excluded}\n")
    def mounts(self, *lines): self.proc("/self/mountinfo", "".join(line + "\n" for line in lines)); return self
    def more_mounts(self, *lines): return self.mounts(*open(self.dir + "/proc/self/mountinfo").read().splitlines(), *lines)
    def status(self, uid=0, caps="000001ffffffffff", no_new_privileges=0):
        self.proc("/self/status", f"Name:\tcudacompat\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{caps}\nNoNewPrivs:\t{no_new_privileges}\n"); return self
    def limits(self, space="unlimited"):
        return self.proc("/self/limits", f"Max locked memory         unlimited            unlimited            bytes\nMax address space         {space:20} {space:20} bytes\n")

    def open_module(self, version): return int(version.split(".")[0]) >= 560 and GPUS[self.gpu][2:4] >= (7, 5)
    def module(self, version):
        """The loaded kernel module."""
        flavour = "Open Kernel Module for x86_64" if self.open_module(version) else "x86_64 Kernel Module"
        self.proc("/driver/nvidia/version", f"NVRM version: NVIDIA UNIX {flavour}  {version}  Release Build\nGCC version:  gcc version 13\n")
        self.sys("/module/nvidia/version", version + "\n"); return self
    def unloaded(self):
        """No module is loaded, no GPU is bound, no node is there."""
        for p in "/proc/driver", "/sys/module", "/sys/bus/pci/drivers/nvidia": shutil.rmtree(self.dir + p, ignore_errors=True)
        for i in range(self.count):
            bound = f"{self.dir}/sys/bus/pci/devices/{self.slot(i)}/driver"; os.path.islink(bound) and os.unlink(bound)
        self.proc("/devices", "Character devices:\n  1 mem\n\nBlock devices:\n  7 loop\n"); self.nodes = {}; return self
    def on_disk(self, version):
        """The modules that the next boot would load."""
        places = "updates/dkms" if self.os == "ubuntu" else "extra"; licence = "Dual MIT/GPL" if self.open_module(version) else "NVIDIA"
        self.root(f"/lib/modules/{self.kernel}/modules.dep", "".join(f"{places}/{m}.ko:\n" for m in ("nvidia", "nvidia-uvm")))
        for m in "nvidia", "nvidia-uvm":
            compiled(f"{self.dir}/root/lib/modules/{self.kernel}/{places}/{m}.ko", f'const char a[] __attribute__((section(".modinfo"),used)) = "license={licence}\\0version={version}\\0vermagic={self.kernel} SMP mod_unload";', "-c")
        return self
    def userland(self, version, directory=None):
        directory = self.dir + "/root" + (directory or self.lib); pci, name, major, minor, _ = GPUS[self.gpu]
        defines = {"VERSION": f'"{version}"', "CUDA": cuda_of(version), "NAME": f'"{name}"', "MAJOR": major, "MINOR": minor,
                   "PCI": f"0x{pci}10de", **self.nvml}
        for n in "libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler":
            shared_object(f"{directory}/{n}.so.{version}", NVML if n == "libnvidia-ml" else "int cuInit(unsigned f) { return 0; }", f"{n}.so.1", defines.items())
            self.link(f"{directory}/{n}.so.1", f"{n}.so.{version}")
        return self
    def torch(self, version, prefix="/opt/venv", python="3.12"):
        """The wheel of torch and what it requires, in an environment whose interpreter is a program."""
        self.environment(prefix, python)
        shutil.copytree(torch_site(version, python), self.site, copy_function=os.link, dirs_exist_ok=True)
        return self
    def installed(self, *requirements):
        """What pip installs, as it is, in an environment of its own: some gigabytes, from the package index."""
        self.environment(); site = installed_site(requirements)
        self.extra += ["--ro-bind", site, "/opt/venv/lib/python3.12/site-packages"]; return self
    def environment(self, prefix="/opt/venv", python="3.12"):
        root = self.dir + "/root"; self.root(f"{prefix}/pyvenv.cfg", f"home = /usr/bin\nversion = {python}.3\ninclude-system-site-packages = false\n")
        compiled(f"{root}/usr/bin/python{python}", "int main(void) { return 0; }"); self.link(f"{root}{prefix}/bin/python3", f"/usr/bin/python{python}")
        self.site = f"{root}{prefix}/lib/python{python}/site-packages"; self.root(f"/usr/lib/python{python}/os.py"); os.makedirs(self.site, exist_ok=True); return self

    def container(self, given=True):
        """The same seen from inside a container; given: started with --gpus, as the toolkit mounts it."""
        self.isolated = True; self.root("/.dockerenv"); self.proc("/1/comm", "python\n"); self.proc("/1/cgroup", "0::/\n"); self.status(caps="00000000a80425fb")
        self.mounts("600 500 0:60 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A", "601 600 0:61 / /proc rw - proc proc rw", "602 600 0:62 / /dev rw - tmpfs tmpfs rw", "603 600 0:63 / /sys ro - sysfs sysfs ro")
        if given: self.injected(self.lib)
        self.gone("/lib/modules", "/boot", "/lib/firmware", "/usr/bin/nvidia-modprobe")
        if not given: self.nodes = {}; self.without("libcuda", "libnvidia")
        return self
    def injected(self, directory):
        return self.more_mounts(*(f"{700 + i} 600 259:1 {directory}/{n}.so.{self.driver} {directory}/{n}.so.{self.driver} ro,nosuid,nodev - ext4 /dev/root rw" for i, n in enumerate(("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler"))))
    def first_namespace(self, root="22 1 259:1 / / rw - ext4 /dev/root rw"):
        """/proc is the host's own: its second process is the kernel's."""
        self.proc("/1/mountinfo", root + "\n"); self.proc("/2/stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 22 0 0\n"); return self
    def without(self, *prefixes):
        d = self.dir + "/root" + self.lib
        for f in os.listdir(d):
            if f.startswith(prefixes): os.unlink(f"{d}/{f}")
        return self
    def without_nodes(self, *names):
        for n in names: del self.nodes[n]
        return self
    def kmsg(self, line): put(self.dir + "/kmsg", line + "\n"); self.extra += ["--ro-bind", self.dir + "/kmsg", "/dev/kmsg"]; return self
    def set(self, **env): self.env.update(env); return self
    def as_user(self, uid=1000, no_new_privileges=0): self.user = uid; return self.status(uid, "0000000000000000", no_new_privileges)
    def node_of(self, name, major, minor, mode=0o666):
        """A node of another driver's, for one that this machine answers as the situation needs."""
        path = f"{self.dir}/node-{name}"; subprocess.run(["mknod", path, "c", str(major), str(minor)], check=True); os.chmod(path, mode); self.nodes[name] = path; return self

    def run(self, binary, *args): return subprocess.run([*self.command(binary), *args], capture_output=True, text=True)
    def command(self, binary):
        """What starts the program inside this machine; its arguments follow."""
        root = self.dir + "/root"
        for f in subprocess.run(["ldd", binary], capture_output=True, text=True).stdout.split():
            if f.startswith("/") and not os.path.exists(root + f): os.makedirs(os.path.dirname(root + f), exist_ok=True); shutil.copy(os.path.realpath(f), root + f)
        # As a distribution has it: what its directories hold stands in the loader's cache.
        if self.lib != LIB: self.root("/etc/ld.so.conf", self.lib + "\n")
        subprocess.run(["/sbin/ldconfig", "-r", root], capture_output=True)
        if self.isolated: self.proc("/1/environ", "".join(f"{k}={v}\0" for k, v in {"PATH": "/usr/bin", **self.env}.items()))
        for d in "/proc", "/sys", "/dev": os.makedirs(root + d, exist_ok=True)  # a user may not make them
        put(root + "/usr/bin/cudacompat")
        a = ["bwrap", "--bind", root, "/", "--bind", self.dir + "/proc", "/proc", "--dev", "/dev", "--bind", self.dir + "/sys", "/sys",
             "--ro-bind", binary, "/usr/bin/cudacompat", "--clearenv", "--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/root", *self.extra]
        for n, of in self.nodes.items(): a += ["--dev-bind", of, "/dev/" + n]
        for k, v in self.env.items(): a += ["--setenv", k, v]
        if self.user:
            for d, _, _ in os.walk(self.dir): os.chmod(d, 0o755)
            a = ["setpriv", "--reuid", str(self.user), "--regid", str(self.user), "--clear-groups", *a]
        return [*a, "/usr/bin/cudacompat"]
    def done(self): shutil.rmtree(self.dir, ignore_errors=True)


def fault(binary, situation):
    """What is wrong with the answer, or nothing."""
    m = situation.make()
    try:
        r = m.run(binary, "doctor", "-o", "json", *situation.args)
        try: report = json.loads(r.stdout)
        except ValueError: return f"no report (exit {r.returncode}): {(r.stderr or r.stdout)[-200:]}"
    finally: m.done()
    return wrong_in(report, situation)


def wrong_in(report, s):
    found = report["findings"]; steps = json.dumps([[f.get("do"), f.get("steps"), f.get("pins")] for f in found]); said = " ".join(f["message"] + f["rule"] for f in found) + steps
    loud = [(f["rule"], f["severity"]) for f in found if f["severity"] != "note"]
    if report["outcome"] not in s.outcomes: return f"{report['outcome']} {loud}"
    answers = [a["answer"] for a in report["answers"]]
    if report["outcome"] == "compatible" and any(a in ("broken", "unknown") for a in answers): return "compatible with an answer that is not"
    if report["outcome"] == "incompatible" and not s.partly and any(a.startswith("works") and a != "works-cpu-only" for a in answers): return "incompatible, and its build works"
    if s.rule and s.rule not in [(f["rule"], f["severity"]) for f in found]: return f"no {s.rule[1]} of {s.rule[0]} in {loud}"
    if not s.rule and s.sound and loud: return f"it is sound, and says {loud}"
    if s.word and s.word not in steps: return f"no step says {s.word}"
    if s.never and s.never in said: return f"says {s.never}"


def judge(binary, situations, verbose=False):
    wrong = []
    for name, situation in situations.items():
        if bad := fault(binary, situation): wrong.append(f"{name}: {bad}")
        if verbose: m = situation.make(); print(f"### {name}\n" + m.run(binary, "doctor", *situation.args).stdout); m.done()
    return wrong


def slug(name): return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def facts_of(binary, machine, *args):
    """What probe says inside a machine, as it says it on every system that records."""
    try: r = machine.run(binary, "probe", *args)
    finally: machine.done()
    facts = json.loads(r.stdout)
    for p in facts["probes"]: p["seconds"] = 0
    facts["devices"]["shm"] = min(facts["devices"]["shm"], 8 << 30)
    if machine.dir in (text := json.dumps(facts)): sys.exit(f"the facts name this system's {machine.dir}: {text}")
    return facts


def record_machines(binary, machines, directory):
    """Writes the sound machines whole, and each part as the patch that makes it of the first machine; again for those of
    the others of which that patch does not make what probe says."""
    whole, shared = {}, {}
    for name, (make, args, parts) in machines.items():
        facts = whole[name] = facts_of(binary, make(), *args)
        put(f"{directory}/{name}.json", show(facts) + "\n")
        for part, kind in parts.items():
            other = facts_of(binary, make(**kind), *args)
            if part not in shared:
                shared[part] = difference(facts, other); put(f"{directory}/part/{part}.json", show(shared[part]) + "\n")
            elif patched(facts, shared[part]) != other: put(f"{directory}/{name}/{part}.json", show(difference(facts, other)) + "\n")
    return whole, shared


def record(binary, situations, machines, directory):
    """Writes the sound machines, and each situation as a patch over the one that it is most like."""
    whole, shared = record_machines(binary, machines, directory + "/machines")
    whole.update({f"{name} {part}": patched(whole[name], shared[part]) for name in whole for part in ["torch-2.9.0+cu130"]})
    listed = []
    for name, s in situations.items():
        facts = facts_of(binary, s.make(), *(a for a in s.args if a == "--offline"))
        base, patch = min(((base, show(difference(of, facts))) for base, of in whole.items()), key=lambda b: len(b[1]))
        put(f"{directory}/situations/{slug(name)}.json", patch + "\n")
        listed.append({"name": name, "base": base, "facts": slug(name) + ".json", "args": [a for a in s.args if a != "--offline"], "outcomes": sorted(s.outcomes),
                       "rule": list(s.rule or []), "word": s.word, "never": s.never, "sound": s.sound, "partly": s.partly})
    put(directory + "/situations/situations.json", show(listed) + "\n")


def trees(situations, directory):
    """Writes the files of each situation as one tree, with machine.json for its variables: what matrix's TestFaults looks at."""
    for name, s in situations.items():
        if "--offline" in s.args: continue
        m = s.make(); tree = f"{directory}/{slug(name)}"
        try:
            subprocess.run(["/sbin/ldconfig", "-r", m.dir + "/root"], capture_output=True)
            shutil.copytree(m.dir + "/root", tree, symlinks=True)
            for d in "proc", "sys":
                shutil.rmtree(f"{tree}/{d}", ignore_errors=True); shutil.copytree(f"{m.dir}/{d}", f"{tree}/{d}", symlinks=True)
            for node in m.nodes: put(f"{tree}/dev/{node}", "")
            put(tree + "/machine.json", json.dumps({"env": {"PATH": "/usr/bin", **m.env}}))
        finally: m.done()


def main(situations, machines):
    verbose = "-v" in sys.argv; binary, *names = [a for a in sys.argv[1:] if a != "-v"]
    if names[:1] == ["record"]:
        record(os.path.abspath(binary), situations, machines, names[1])
        return
    if names[:1] == ["trees"]:
        trees(situations, names[1])
        return
    if unknown := [n for n in names if n not in situations]: sys.exit(f"no situation is called {unknown}")
    chosen = {k: v for k, v in situations.items() if not names or k in names}
    wrong = judge(os.path.abspath(binary), chosen, verbose)
    for w in wrong: print(w)
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} situations answered rightly")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    import drivers, kit, machines, situations  # as modules: what is made once is then known once
    try: kit.main({**situations.SITUATIONS, **drivers.SITUATIONS}, machines.MACHINES)
    finally: kit.forget()
