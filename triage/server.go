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
	{"tensorflow", []string{"tensorflow/", "tensorflow.", "tf2onnx", "keras/"}},
	{"jax", []string{"jaxlib", "/jax/", "XlaRuntimeError"}},
	{"diffusers", []string{"diffusers/", `diffusers\`}},
	{"inference", []string{"generate(", "generation/utils.py", "inference_mode", "pipeline("}},
}

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
	{noGPU, "miner", []string{
		"run `nvidia-smi`, or `clinfo -l` for OpenCL: does the driver see the cards?",
		"install the driver whole, with its OpenCL and CUDA libraries; on a rig, check risers and power",
		"compare the miner's build (CUDA, OpenCL) with the cards and the driver"}},
	{noGPU, "hashcat", []string{
		"run `hashcat -I` and `nvidia-smi`: which of them sees the GPU?",
		"install the driver with its OpenCL and CUDA libraries"}},
}

// The causes for which servers have steps of their own.
var (
	outOfMemory = []string{"out-of-memory", "cuda-out-of-memory", "out-of-memory-in-library", "model-larger-than-gpu",
		"tensorflow-out-of-memory"}
	noGPU     = []string{"no-gpu-visible"}
	badAccess = []string{"illegal-memory-access", "launch-failure"}
)

// ofServer replaces the steps by those for the program that wrote the log, where it has its own.
func (d *Diagnosis) ofServer(logs [][]logLine) {
	if !slices.Contains(slices.Concat(outOfMemory, noGPU, badAccess), d.Cause) {
		return
	}
	name := serverIn(logs, d.Lines)
	for _, s := range ownSteps {
		if s.server == name && slices.Contains(s.causes, d.Cause) {
			d.Do = slices.Clone(s.do)
			return
		}
	}
	if slices.Contains(noGPU, d.Cause) && !says(logs, pythons) {
		d.Do = slices.DeleteFunc(d.Do, func(step string) bool { return strings.Contains(step, "python -c") })
	}
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
