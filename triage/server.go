package triage

import (
	"slices"
	"strings"
)

// server is a program that many people run as it is, and cannot change: what helps is its options, not lines of code.
type server struct {
	name  string
	marks []string // one of these stands in its logs
}

// servers are told by their own paths and names; of two, the first is the one that was started.
var servers = []server{
	{"vllm", []string{"vllm/", "vllm.", `\vllm\`, "VLLM::"}},
	{"sglang", []string{"sglang/", "sglang."}},
	{"ollama", []string{"ollama"}},
	{"comfyui", []string{"ComfyUI", "comfyui", "comfy/"}},
	{"webui", []string{"stable-diffusion-webui", "webui.py", "modules/processing.py", `modules\processing.py`}},
	{"llama.cpp", []string{"llama_model_load", "llama_context", "ggml_", "llama-server", "llama_kv_cache"}},
	{"hashcat", []string{"hashcat"}},
	{"blender", []string{"Blender", "Cycles"}},
	{"miner", []string{"nonce", "ethash", "Ethash", "PhoenixMiner", "xmrig", "kawpow", "lolMiner", "DAG "}},
	{"tensorflow", []string{"tensorflow/", "tensorflow.", "tf2onnx", "keras", "val_loss:"}},
	{"jax", []string{"jaxlib", "/jax/", "XlaRuntimeError"}},
	{"diffusers", []string{"diffusers/", `diffusers\`}},
	{"inference", []string{"generate(", "generation/utils.py", "inference_mode", "pipeline("}},
}

// compiled is the name for programs of which no line speaks of Python.
const compiledProgram = "compiled"

// training are the marks of a program that learns: its memory holds gradients, and its own code can be changed.
var training = []string{"backward", "optimizer", "rainer", "train.py", "train_", "epoch", "Epoch", "loss"}

// ownSteps are the steps for a cause in one of the servers, the likeliest first.
var ownSteps = []struct {
	causes []string
	server string
	do     []string
}{
	{outOfMemory, "vllm", []string{
		"ask for less: a smaller `--max-model-len` and `--max-num-seqs`; `--enforce-eager` saves the memory of CUDA graphs",
		"if even the weights do not fit, take a quantized model (AWQ, GPTQ, FP8), or split it: `--tensor-parallel-size N`",
		"if other programs or vLLM's own graphs need room beside it, lower `--gpu-memory-utilization`"}},
	{outOfMemory, "sglang", []string{
		"lower `--mem-fraction-static` (0.8, then 0.7), `--context-length` or `--max-running-requests`",
		"if even the weights do not fit, take a quantized model, or split it: `--tp N`"}},
	{outOfMemory, "ollama", []string{
		"take a smaller model or quantization, or a shorter context (num_ctx)",
		"serve one request at a time: OLLAMA_NUM_PARALLEL=1, OLLAMA_MAX_LOADED_MODELS=1",
		"put fewer layers on the GPU (num_gpu); `ollama ps` shows how much is there"}},
	{outOfMemory, "llama.cpp", []string{
		"put fewer layers on the GPU: a smaller `-ngl N`",
		"shorten the context (`-c N`), or take a smaller quantization of the model",
		"run `nvidia-smi`: it shows who else holds memory"}},
	{outOfMemory, "comfyui", []string{
		"make the picture, the batch or the number of frames smaller; decode in tiles: VAE Decode (Tiled)",
		"start ComfyUI with `--lowvram`, or with `--novram` if that is not enough",
		"take a smaller file of the model (fp8, GGUF)"}},
	{outOfMemory, "webui", []string{
		"make the picture or the batch smaller",
		"start it with `--medvram`, or with `--lowvram` if that is not enough",
		"close other programs that use the GPU: `nvidia-smi` lists them"}},
	{outOfMemory, "diffusers", []string{
		"call pipe.enable_model_cpu_offload() instead of pipe.to('cuda'), and load in torch.float16 or bfloat16",
		"make the picture, the batch or the number of frames smaller; pipe.vae.enable_tiling() helps with large ones"}},
	{badAccess, "llama.cpp", []string{
		"try the newest release: most of these are its own faults, each for one model, quantization or option",
		"leave options out one at a time: `-fa`, `-sm`, `-mg`, `-ub`, a quantized cache (`-ctk`, `-ctv`)",
		"run `dmesg | grep Xid`: another Xid than 13, 31 or 43 points to the hardware"}},
	{badAccess, "ollama", []string{
		"update Ollama, and try another model: most of these are faults of its runner",
		"leave OLLAMA_FLASH_ATTENTION and OLLAMA_KV_CACHE_TYPE at their defaults",
		"run `dmesg | grep Xid`: another Xid than 13, 31 or 43 points to the hardware"}},
	{badAccess, "vllm", []string{
		"try the newest release, and `--enforce-eager`: it leaves CUDA graphs out",
		"try another attention backend, and leave quantization, speculation and prefix caching out one at a time",
		"run `dmesg | grep Xid`: another Xid than 13, 31 or 43 points to the hardware"}},
	{outOfMemory, "blender", []string{
		"make textures smaller (Simplify), and hide what the camera does not see",
		"close other programs that use the GPU, or render on the CPU"}},
	{outOfMemory, "miner", []string{
		"mine a coin whose DAG fits the card's memory, or leave the card out",
		"raise the system's swap (on Windows the paging file) to more than the memory of all cards together"}},
	{outOfMemory, "tensorflow", []string{
		"ask for less: a smaller batch, picture or sequence; mixed precision (tf.keras.mixed_precision)",
		"run `nvidia-smi`: does another process, or a notebook left open, hold the memory?",
		"call tf.config.experimental.set_memory_growth(gpu, True) at the start if several programs share the GPU"}},
	{outOfMemory, "jax", []string{
		"ask for less: a smaller batch, jax.checkpoint, bfloat16",
		"run `nvidia-smi`: a second JAX process on the GPU needs XLA_PYTHON_CLIENT_PREALLOCATE=false in both",
		"if the estimate fits the GPU, raise XLA_PYTHON_CLIENT_MEM_FRACTION from 0.75"}},
	{outOfMemory, "inference", []string{
		"load the model in bfloat16, or quantized: BitsAndBytesConfig(load_in_4bit=True)",
		"ask for less: a shorter input, fewer new tokens, a smaller batch; run it under torch.inference_mode()",
		"split it over GPUs and main memory: device_map='auto'"}},
	{outOfMemory, compiledProgram, []string{
		"run `nvidia-smi`: it shows who else holds memory",
		"ask for less: a smaller input, model, grid or tile, or fewer processes on each GPU",
		"use a GPU with more memory, or spread the work over several"}},
	{badAccess, "miner", []string{
		"set clocks, voltage and power limit back to the defaults, and see whether it holds",
		"try another release of the miner, and another driver",
		"run `dmesg | grep Xid`: it names the card; change its riser, slot and cable"}},
	{badAccess, compiledProgram, []string{
		"run `compute-sanitizer PROGRAM`: it names the kernel that reads or writes outside its memory",
		"try the newest release of the program, and the driver that it was tested with",
		"run `dmesg | grep Xid`: another Xid than 13, 31 or 43 points to the hardware; so does an overclock that is too high"}},
	{notANumber, "tensorflow", []string{
		"call tf.debugging.enable_check_numerics() for one run: it names the first operation",
		"check the data: NaN or infinite values, empty batches, labels out of range",
		"lower the learning rate, and clip gradients (clipnorm)"}},
	{noGPU, "miner", []string{
		"run `nvidia-smi`, or `clinfo -l` for OpenCL: does the driver see the cards?",
		"install the driver whole, with its OpenCL and CUDA libraries; on a rig, check risers and power",
		"compare the miner's build (CUDA, OpenCL) with the cards and the driver"}},
	{noGPU, compiledProgram, []string{
		"run `nvidia-smi`: it shows whether the driver sees one",
		"look at CUDA_VISIBLE_DEVICES, and in a container at `--gpus all`",
		"run `cudacompat doctor`: it says what is missing between program, driver and GPU"}},
	{noGPU, "hashcat", []string{
		"run `hashcat -I` and `nvidia-smi`: which of them sees the GPU?",
		"install the driver with its OpenCL and CUDA libraries"}},
}

// compiledServers are those of the servers that nobody runs from sources of their own.
var compiledServers = []string{"ollama", "llama.cpp", "hashcat", "blender", "miner"}

// doubtCompiled blames nobody for a kernel that crashed in such a program: its own fault, the driver's and the GPU's look
// alike in its log.
func (d *Diagnosis) doubtCompiled(logs [][]logLine) {
	if d.Blame == Program && slices.Contains(badAccess, d.Cause) &&
		slices.Contains(compiledServers, serverIn(logs, d.Lines)) {
		d.Blame = Unknown
	}
}

// withCUDA are the steps to a build for CUDA, by a word of the line in which a library says that it has none.
var withCUDA = []struct {
	mark string
	do   []string
}{
	{"dnn", []string{
		"build OpenCV with -DWITH_CUDA=ON -DOPENCV_DNN_CUDA=ON, with cuDNN's headers there: the opencv-python wheels have no CUDA",
		"or run the model with onnxruntime-gpu, TensorRT or PyTorch instead of cv2.dnn"}},
	{"LightGBM", []string{
		"with device_type=gpu, run `pip install -U lightgbm`: its wheels for Linux (4.4 or newer) and Windows have the OpenCL part",
		"with device_type=cuda, build it: `pip install --no-binary lightgbm --config-settings=cmake.define.USE_CUDA=ON lightgbm`"}},
	{"Tree Learner", []string{
		"with device_type=gpu, run `pip install -U lightgbm`: its wheels for Linux (4.4 or newer) and Windows have the OpenCL part",
		"with device_type=cuda, build it: `pip install --no-binary lightgbm --config-settings=cmake.define.USE_CUDA=ON lightgbm`"}},
	{"XGBoost", []string{"uninstall xgboost and xgboost-cpu, then run `pip install xgboost`: its Linux and Windows wheels have CUDA",
		"with conda, run `conda install -c conda-forge 'py-xgboost=*=cuda*'`"}},
	{"dgl", []string{"install DGL from its own index, for this PyTorch and CUDA: the page \"Get Started\" of dgl.ai names the command",
		"uninstall the build for CPUs first: `pip uninstall dgl`"}},
	{"aiss", []string{"uninstall faiss-cpu, then run `pip install faiss-gpu-cu12`, or with conda `-c pytorch faiss-gpu`",
		"or use the index on the CPU"}},
}

// The causes for which servers have steps of their own.
var (
	outOfMemory = []string{"out-of-memory", "cuda-out-of-memory", "out-of-memory-in-library", "model-larger-than-gpu",
		"tensorflow-out-of-memory"}
	noGPU      = []string{"no-gpu-visible"}
	badAccess  = []string{"illegal-memory-access", "launch-failure"}
	notANumber = []string{"nan-loss"}
)

// ofServer replaces the steps by those for the program that wrote the log, where it has its own.
func (d *Diagnosis) ofServer(logs [][]logLine) {
	do := d.stepsFor(logs)
	if do == nil && d.Cause == builtWithout && len(d.Lines) > 0 {
		do = stepsWithCUDA(d.Lines[0].Text)
	}
	if do != nil {
		d.Do = slices.Clone(do)
	}
}

// stepsFor are the steps for the cause in the program that wrote the logs; nil where there are none but the usual ones.
func (d *Diagnosis) stepsFor(logs [][]logLine) []string {
	if !slices.Contains(slices.Concat(outOfMemory, noGPU, badAccess, notANumber), d.Cause) {
		return nil
	}
	name := serverIn(logs, d.Lines)
	if name == "" && !says(logs, pythons) {
		name = compiledProgram
	}
	for _, s := range ownSteps {
		if s.server == name && slices.Contains(s.causes, d.Cause) {
			return s.do
		}
	}
	return nil
}

// builtWithout is the cause of what a library says that was built without CUDA.
const builtWithout = "library-built-without-cuda"

func stepsWithCUDA(line string) []string {
	for _, l := range withCUDA {
		if strings.Contains(line, l.mark) {
			return l.do
		}
	}
	return nil
}

// pythons are the marks of a program in Python.
var pythons = []string{".py", "python", "Python", "torch", "Traceback"}

// serverIn is the name of the server that wrote a log; empty for a program of the user's own that learns. What PyTorch
// says is not TensorFlow's, whose notices stand in many of PyTorch's logs.
func serverIn(logs [][]logLine, decided []Line) string {
	not := []string{}
	if says(logs, training) {
		not = append(not, "diffusers", "inference")
	}
	if slices.ContainsFunc(decided, func(l Line) bool { return strings.Contains(l.Text, "orch") }) {
		not = append(not, "tensorflow", "jax")
	}
	i := slices.IndexFunc(servers, func(s server) bool {
		return !slices.Contains(not, s.name) && says(logs, s.marks)
	})
	if i < 0 {
		return ""
	}
	return servers[i].name
}

func says(logs [][]logLine, marks []string) bool {
	return slices.ContainsFunc(logs, func(lines []logLine) bool {
		return slices.ContainsFunc(lines, func(l logLine) bool { return containsAny(l.text, marks) })
	})
}
