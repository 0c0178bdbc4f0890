"""Asks the interpreter that runs this file what loads, and prints one JSON object. It uses the standard library only.

Run it with the Python of the environment: PYTHON oracle.py SITE MODULE[,MODULE...] [GLOB,...]
Each module becomes an entry {ok, error, facts}; "gpu" checks open what the module opens only when a GPU is used.
"""
import ctypes
import glob
import importlib
import importlib.util
import json
import mmap
import os
import re
import subprocess
import sys

NO_GPU = "0 active drivers"  # what Triton says on import where there is no GPU
SITE = sys.argv[1]
MODULES = [m for m in sys.argv[2].split(",") if m]
GLOBS = [g for g in (sys.argv[3] if len(sys.argv) > 3 else "").split(",") if g]


def mapped(pattern):
    """The files in memory whose names match the pattern."""
    found = []
    for line in open("/proc/self/maps"):
        path = line.split(maxsplit=5)[-1].strip()
        if re.search(pattern, path) and path not in found:
            found.append(path)
    return found


def load(name):
    """Opens a library as dlopen does and says why it does not open, or nothing."""
    try:
        ctypes.CDLL(name, mode=ctypes.RTLD_LOCAL)
    except OSError as err:
        return str(err)
    return ""


def load_apart(path):
    """As load, in a child: a library that registers what another one has registered ends the process."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(writer, load(path)[:400].encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as f:
        error = f.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return error or (f"ends the process: {code}" if code else "")


def check(checks, name, call):
    """Runs one check; a check returns an error text, or nothing when all is well."""
    try:
        error = call()
    except BaseException as err:  # noqa: B902 - whatever a broken package raises is the answer
        error = f"{type(err).__name__}: {err}"
    checks.append({"name": name, "error": str(error or "")[:400]})


def runpath(path):
    """The directories of the DT_RUNPATH or DT_RPATH of a library, $ORIGIN expanded."""
    out = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True).stdout
    dirs = []
    for value in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", out):
        dirs += [d.replace("$ORIGIN", os.path.dirname(os.path.realpath(path))) for d in value.split(":")]
    return dirs


def holds(path, text):
    """Whether a file has this text in it."""
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(text) >= 0


def open_from(caller, name):
    """Opens a name as the caller's own dlopen would: LD_LIBRARY_PATH, its RUNPATH, the cache."""
    already = mapped("/" + re.escape(name) + "$")
    if already:
        return ""
    error = load(name)
    for directory in runpath(caller):
        path = os.path.join(directory, name)
        if error and os.path.exists(path):
            error = load(path)
    return error


def nvrtc_compiles(checks):
    """Compiles a kernel with the NVRTC that is loaded: it needs no GPU and opens the builtins library."""
    for path in mapped(r"/libnvrtc\.so"):
        def compile_one(path=path):
            lib = ctypes.CDLL(path)
            program = ctypes.c_void_p()
            source = b'#include <cuda_fp16.h>\nextern "C" __global__ void k(float *x) { x[0] = sinf(x[1]); }'
            source = source.split(b"\n", 1)[1]
            if lib.nvrtcCreateProgram(ctypes.byref(program), source, b"k.cu", 0, None, None):
                return "nvrtcCreateProgram failed"
            code = lib.nvrtcCompileProgram(program, 0, None)
            if not code:
                return ""
            size = ctypes.c_size_t()
            lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value + 1)
            lib.nvrtcGetProgramLog(program, log)
            lib.nvrtcGetErrorString.restype = ctypes.c_char_p
            return f"NVRTC {lib.nvrtcGetErrorString(code).decode()}: {log.value.decode()[:200]}"
        check(checks, "nvrtc compiles", compile_one)


def built_for(pattern, texts):
    """The CUDA family of the library in memory: that whose text is in the file, or nothing."""
    return next((family for path in mapped(pattern) for family, text in texts.items() if holds(path, text)), "")


def cudnn_parts(checks, facts):
    """cuDNN 9 opens its parts by name from its own folder when it is first used."""
    for main in mapped(r"/libcudnn\.so\.9"):
        for part in ("graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled", "engines_runtime_compiled"):
            check(checks, f"libcudnn_{part}", lambda p=part: open_from(main, f"libcudnn_{p}.so.9"))
    for main in mapped(r"/libcudnn\.so\.8"):
        for part in ("ops_infer", "cnn_infer", "adv_infer", "ops_train", "cnn_train"):
            check(checks, f"libcudnn_{part}", lambda p=part: open_from(main, f"libcudnn_{p}.so.8"))
    facts["cudnn_family"] = built_for(r"/libcudnn_adv\.so\.9", {"12": b"libcublasLt.so.12", "13": b"libcublasLt.so.13"})


def torch(m, checks, facts):
    facts.update(version=m.__version__, cuda=m.version.cuda, arch=getattr(m._C, "_cuda_getArchFlags", lambda: "")())
    if not hasattr(m._C, "_cuda_getArchFlags") and not hasattr(m._C, "_CudaDeviceProperties"):
        facts["cpu_only"] = True
        return
    if not m.backends.cuda.is_built():
        facts["cpu_only"] = True
        return
    check(checks, "cudnn version", lambda: facts.update(cudnn=m.backends.cudnn.version()))
    check(checks, "nccl version", lambda: facts.update(nccl=list(m.cuda.nccl.version())))
    for name in ("libtorch_cuda_linalg.so", "libtorch_cuda.so"):
        path = os.path.join(os.path.dirname(m.__file__), "lib", name)
        check(checks, name, lambda p=path: load(p))
    cudnn_parts(checks, facts)
    facts["nccl_family"] = built_for(r"/libnccl\.so\.2", {"12": b"+cuda12.", "13": b"+cuda13."})
    nvrtc_compiles(checks)


def torchvision(m, checks, facts):
    import torch as t
    facts.update(version=m.__version__, cuda=getattr(m.version, "cuda", None))
    check(checks, "nms", lambda: t.ops.torchvision.nms(t.zeros((1, 4)), t.zeros(1), 0.5) is None)


def xformers(m, checks, facts):
    facts.update(version=m.__version__)
    def extension():
        lib = importlib.import_module("xformers._cpp_lib")
        err = getattr(lib, "_cpp_library_load_exception", None)
        return err and str(err)
    check(checks, "extension", extension)


def bitsandbytes(m, checks, facts):
    facts.update(version=m.__version__)
    bitsandbytes_library(checks)


def bitsandbytes_library(checks):
    """Releases before 0.50 take the library of torch's own CUDA minor, and where it is not there that of the CPU."""
    import torch as t
    folder = importlib.util.find_spec("bitsandbytes").submodule_search_locations[0]
    name = "libbitsandbytes_cuda" + t.version.cuda.replace(".", "") + ".so"
    check(checks, name, lambda: load(os.path.join(folder, name)))


def tensorflow(m, checks, facts):
    info = m.sysconfig.get_build_info()
    facts.update(version=m.__version__, cuda=info.get("cuda_version"), cudnn=info.get("cudnn_version"),
                 arch=" ".join(info.get("cuda_compute_capabilities", [])), cpu_only=not info.get("is_cuda_build"))
    if not info.get("is_cuda_build"):
        return
    # A dlopen looks in the run path of the library that calls it: the one that holds the loader's complaint.
    callers = [p for p in mapped(r"/tensorflow/.*\.so") if holds(p, b"Cannot dlopen some GPU libraries")]
    cudnn = str(info.get("cudnn_version", "9")).split(".")[0]
    names = ["libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11", "libcusolver.so.11",
             "libcusparse.so.12", f"libcudnn.so.{cudnn}"]
    for name in names:
        check(checks, name, lambda n=name: min((open_from(c, n) for c in callers), key=len, default="no caller"))
    cudnn_parts(checks, facts)


def jax(m, checks, facts):
    facts.update(version=m.__version__)
    found = []
    for family in ("cuda12", "cuda13"):
        found_path = ""
        for pattern in (f"jax_plugins/xla_{family}/xla_cuda_plugin.so", f"jax_{family}_plugin/*.so"):
            for path in glob.glob(os.path.join(SITE, pattern)):
                if pattern.startswith("jax_plugins"):
                    found.append(family)
                    facts["cuda"] = family.removeprefix("cuda")
                    found_path = path
                    check(checks, f"plugin {family}", lambda p=path: load(p))
        if glob.glob(os.path.join(SITE, f"jax_plugins/xla_{family}")):
            check(checks, f"xla_{family} module", lambda f=family: importlib.import_module(f"jax_plugins.xla_{f}") and "")
            check(checks, f"plugin parts {family}", lambda f=family, p=found_path: jax_versions(f, p, checks, facts) if p else "")
    facts["cpu_only"] = not found


# What XLA opens by name; the plugin composes the names, so that they cannot be read out of it.
JAX_OPENS = {
    "cuda12": ["libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcudnn.so.9", "libcufft.so.11", "libcusolver.so.11",
               "libcusparse.so.12"],
    "cuda13": ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libcufft.so.12", "libcusolver.so.12",
               "libcusparse.so.12"],
}


def jax_versions(family, plugin, checks, facts):
    """What the plugin checks when it starts, without the parts that ask a device: versions, and names that XLA opens."""
    module = importlib.import_module(f"jax_plugins.xla_{family}")
    for step in ("_import_extensions", "_load_nvidia_libraries"):
        getattr(module, step, lambda: None)()
    versions = importlib.import_module(f"jax_{family}_plugin._versions")
    # The plugin asks for cuFFT's version and takes any: it compares the whole number with what it was built with by a hundred
    for name, scale in (("cuda_runtime", 0), ("cudnn", 100), ("cufft", 0), ("cupti", 0)):
        def compare(name=name, scale=scale):
            if name == "cupti" and mapped(r"/libcupti\.so"):
                return ""  # that of CUDA 13 asks the driver before it tells its version, and the stand-in has no device
            have, built = getattr(versions, name + "_get_version")(), getattr(versions, name + "_build_version")()
            # XLA, when a GPU is used: "matching major version and equal or higher minor version" (cuda_dnn.cc)
            return scale and built // scale > have // scale and f"{name} {have}, but the plugin was built with {built}"
        check(checks, f"{name} version", compare)
    check(checks, "plugin's release", lambda: jax_releases(family))
    for name in JAX_OPENS[family]:
        check(checks, name, lambda n=name: open_from(plugin, n))
    cudnn_parts(checks, facts)


def jax_releases(family):
    """Whether jaxlib takes the plugin of the release that is there: of another one it says that it will not be used."""
    try:
        fits = importlib.import_module("jaxlib.plugin_support").check_plugin_version
    except ImportError:
        return ""  # older releases do not ask
    plugin = f"jax_{family}_plugin"
    have = [importlib.import_module(name + ".version").__version__ for name in ("jaxlib", plugin)]
    return "" if fits(plugin, *have) else f"{plugin} {have[1]} is not compatible with jaxlib {have[0]}: it will not be used"


def onnxruntime(m, checks, facts):
    facts.update(version=m.__version__, cuda=getattr(m, "cuda_version", None), providers=m.get_available_providers())
    if "CUDAExecutionProvider" not in facts["providers"]:
        facts["cpu_only"] = True
        return
    if hasattr(m, "preload_dlls"):
        check([], "preload", m.preload_dlls)
    capi = os.path.join(os.path.dirname(m.__file__), "capi")
    ctypes.CDLL(os.path.join(capi, "libonnxruntime_providers_shared.so"), mode=ctypes.RTLD_GLOBAL)
    check(checks, "CUDA provider", lambda: load(os.path.join(capi, "libonnxruntime_providers_cuda.so")))
    cudnn_parts(checks, facts)


def from_cupy(package, name):
    """`from PACKAGE import NAME`, as CuPy's own code has it: what loads the library first hangs on it."""
    return getattr(__import__(package, fromlist=[name]), name)


def cupy(m, checks, facts):
    facts.update(version=m.__version__)
    check(checks, "runtime", lambda: facts.update(cuda=m.cuda.runtime.runtimeGetVersion()))
    check(checks, "nvrtc", lambda: facts.update(nvrtc=m.cuda.nvrtc.getVersion()))
    for name in ("cublas", "cusolver", "cusparse", "curand", "cufft"):
        check(checks, name, lambda n=name: from_cupy("cupy.cuda" if n == "cufft" else "cupy_backends.cuda.libs", n) and "")
    check(checks, "cublas library", lambda: from_cupy("cupy_backends.cuda.libs", "cublas").create() and "")
    for c in list(checks):
        if "NoDevice" in c["error"] or "NOT_INITIALIZED" in c["error"] or "no CUDA-capable" in c["error"]:
            c["error"] = ""
    nvrtc_compiles(checks)


def ctranslate2(m, checks, facts):
    facts.update(version=m.__version__)
    caller = (mapped(r"libctranslate2") or [""])[0]
    if not caller:
        return
    text = open(caller, "rb").read()
    names = sorted(set(re.findall(rb"libcublas\.so\.\d+|libcudnn(?:_\w+)?\.so\.\d+", text)))
    facts["opens"] = [n.decode() for n in names]
    for name in facts["opens"]:
        check(checks, name, lambda n=name: open_from(caller, n))


def xgboost(m, checks, facts):
    info = m.build_info()
    facts.update(version=m.__version__, cuda=".".join(map(str, info.get("CUDA_VERSION", []))), cpu_only=not info.get("USE_CUDA"))


def faiss(m, checks, facts):
    facts.update(version=m.__version__, cpu_only=not hasattr(m, "StandardGpuResources"))


def numba_cuda(m, checks, facts):
    def kernel(x):
        x[0] = x[1]
    import numba
    facts.update(version=numba.__version__)
    check(checks, "compile", lambda: m.compile_ptx(kernel, (numba.float32[:],), cc=(8, 0)) and "")
    nvrtc_compiles(checks)


def triton(m, checks, facts):
    facts.update(version=m.__version__)
    tools = glob.glob(os.path.join(os.path.dirname(m.__file__), "backends/nvidia/bin/ptxas*"))
    if not tools:
        checks.append({"name": "ptxas", "error": "no ptxas in the package"})
    for tool in tools:
        def run(tool=tool):
            out = subprocess.run([tool, "--version"], capture_output=True, text=True)
            facts["ptxas"] = re.findall(r"release ([\d.]+)", out.stdout)
            return out.returncode and out.stderr
        check(checks, os.path.basename(tool), run)


def paddle(m, checks, facts):
    facts.update(version=m.__version__, cuda=m.version.cuda(), cudnn_wanted=m.version.cudnn(), cpu_only=not m.is_compiled_with_cuda())
    caller = (mapped(r"/libpaddle\.so|/libphi") or [""])[0]
    major = str(m.version.cuda()).split(".")[0]
    for name in (f"libcublas.so.{major}", f"libcublasLt.so.{major}", f"libcudnn.so.{str(m.version.cudnn()).split('.')[0]}"):
        check(checks, name, lambda n=name: open_from(caller, n))


def vllm(m, checks, facts):
    facts.update(version=m.__version__)
    # as its own code for CUDA has them: vllm._C, later vllm._C_stable_libtorch and vllm._moe_C_stable_libtorch
    with open(os.path.join(os.path.dirname(m.__file__), "platforms", "cuda.py")) as f:
        names = set(re.findall(r"^\s*import vllm\.((?:_moe)?_C\w*)", f.read(), re.M))
    for name in sorted(names):
        check(checks, name, lambda n=name: importlib.import_module("vllm." + n) and "")
    if not names:
        checks.append({"name": "extension", "error": "its code for CUDA names none"})


def cudf(m, checks, facts):
    facts.update(version=m.__version__)
    check(checks, "pylibcudf", lambda: importlib.import_module("pylibcudf") and "")
    nvrtc_compiles(checks)


PROBES = {f.__name__: f for f in (torch, torchvision, xformers, bitsandbytes, tensorflow, jax, onnxruntime, cupy, ctranslate2,
                                  xgboost, faiss, triton, paddle, vllm, cudf)}
PROBES["numba.cuda"] = numba_cuda


def main():
    answer = {}
    for name in MODULES:
        entry = answer[name] = {"ok": True, "error": "", "facts": {}, "checks": []}
        print("\nAT " + name, flush=True)  # a module that ends the process is named by the last of these lines
        try:
            module = importlib.import_module(name)
        except BaseException as err:  # noqa: B902
            entry.update(ok=False, error=f"{type(err).__name__}: {err}"[:600])
            if name == "bitsandbytes" and NO_GPU in entry["error"]:
                bitsandbytes_library(entry["checks"])
            continue
        entry["facts"]["file"] = getattr(module, "__file__", None)
        entry["facts"].setdefault("version", getattr(module, "__version__", ""))
        entry["names"] = sorted(n for n in dir(module) if not n.startswith("__"))
        if entry["facts"]["file"] is None:
            entry.update(ok=False, error="no code: an empty namespace")
            continue
        if name in PROBES:
            check(entry["checks"], "probe", lambda: PROBES[name](module, entry["checks"], entry["facts"]))
    libraries = []
    for pattern in GLOBS:
        for path in sorted(glob.glob(os.path.join(SITE, pattern), recursive=True)):
            libraries.append({"name": os.path.relpath(path, SITE), "error": load_apart(path)})
    sources = {getattr(m, "__file__", None) or "" for m in list(sys.modules.values())}
    print("\nORACLE" + json.dumps({"modules": answer, "libraries": libraries,
                                   "sources": sorted(s for s in sources if s.startswith(SITE + "/") and s.endswith(".py")),
                                   "mapped": mapped(r"/lib(cudart|cublas|cudnn|nccl|nvrtc|nvJitLink|cuda)\b.*\.so"),
                                   "closure": mapped("^" + re.escape(SITE) + r"/.*\.so")}))
    sys.stdout.flush()
    os._exit(0)


main()
