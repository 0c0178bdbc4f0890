package logs

import (
	"slices"
	"strings"

	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
)

// server is a program that many people run unchanged. They can change its options, not its code.
type server struct {
	name  string
	marks []string // one of these stands in its logs
}

// servers are recognised by their own paths and names. If two match, the first was started: SGLang uses parts of vLLM.
var servers = []server{
	{"sglang", []string{"sglang/", "sglang.", "sglang::"}},
	{"vllm", []string{"vllm/", "vllm.", `\vllm\`, "VLLM::"}},
	{"tgi", []string{"text_generation_server", "text-generation-launcher", "text_generation_launcher"}},
	{"lmdeploy", []string{"lmdeploy/", "lmdeploy."}},
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

// compiledProgram names programs without any line about Python.
const compiledProgram = "compiled"

// training lists the marks of a program that trains: its memory holds gradients, and its user can change its code.
var training = []string{"backward", "optimizer", "rainer", "train.py", "train_", "epoch", "Epoch", "loss"}

// ownSteps lists the steps for a cause in one of the servers, likeliest first.
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
	{outOfMemory, "tgi", []string{
		"ask for less: a smaller `--max-batch-prefill-tokens`, `--max-total-tokens` and `--max-batch-total-tokens`",
		"if even the weights do not fit, `--quantize`, or split it: `--num-shard N`"}},
	{outOfMemory, "lmdeploy", []string{
		"lower `--cache-max-entry-count` (0.4, then 0.2), `--session-len` or `--max-batch-size`",
		"if even the weights do not fit, take a quantized model (AWQ), or split it: `--tp N`"}},
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
	{itsOwn, "llama.cpp", []string{
		"try the newest release: most of these are its own faults, each for one model, quantization or option",
		"leave options out one at a time: `-fa`, `-sm`, `-mg`, `-ub`, `--lora`, a quantized cache (`-ctk`, `-ctv`); GGML_CUDA_DISABLE_GRAPHS=1 leaves CUDA graphs out",
		"run `dmesg | grep Xid`: another Xid than 13, 31 or 43 points to the hardware"}},
	{itsOwn, "ollama", []string{
		"update Ollama, and try another model: most of these are faults of its runner",
		"leave OLLAMA_FLASH_ATTENTION and OLLAMA_KV_CACHE_TYPE at their defaults",
		"run `dmesg | grep Xid`: another Xid than 13, 31 or 43 points to the hardware"}},
	{itsOwn, "vllm", []string{
		"try another release, the newest first, and `--enforce-eager`: it leaves CUDA graphs and torch.compile out",
		"try another attention backend, and leave quantization, speculation and prefix caching out one at a time",
		"run `dmesg | grep Xid`: another Xid than 13, 31 or 43 points to the hardware"}},
	{itsOwn, "sglang", []string{
		"try another release, the newest first, and `--disable-cuda-graph`",
		"try another `--attention-backend` (triton), and leave `--enable-torch-compile`, speculation, quantization, data-parallel attention out one at a time",
		"run `dmesg | grep Xid`: another Xid than 13, 31 or 43 points to the hardware"}},
	{notCompiled, "vllm", []string{
		"leave out what is compiled where it runs: `--enforce-eager`, and another attention backend (VLLM_ATTENTION_BACKEND, or `--attention-backend`; XFORMERS on GPUs older than Ampere)",
		"read the lines above it: an unknown gpu-name or a PTX version asks for the Triton that this torch requires, or a newer torch",
		"try another release of vllm, the newest first"}},
	{notCompiled, "sglang", []string{
		"leave out what is compiled where it runs: no `--enable-torch-compile`, and another `--attention-backend`",
		"read the lines above it: an unknown gpu-name or a PTX version asks for the Triton that this torch requires, or a newer torch",
		"try another release of sglang, the newest first"}},
	{forked, "vllm", []string{
		"set VLLM_WORKER_MULTIPROC_METHOD=spawn in its environment; a script that starts it then needs `if __name__ == '__main__':`",
		"if that is set, run `python -c 'import vllm, torch; print(torch.cuda.is_initialized())'`: True says that an import uses CUDA before vLLM starts its processes, False that a plugin or your own script does"}},
	{forked, "sglang", []string{
		"update SGLang: newer releases start their processes by spawn; a script that starts it needs `if __name__ == '__main__':`",
		"run `python -c 'import sglang, torch; print(torch.cuda.is_initialized())'`: True says that an import uses CUDA before SGLang starts its processes, False that a plugin or your own script does"}},
	{notOneFamily, "comfyui", ofOneFamily},
	{notOneFamily, "webui", ofOneFamily},
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

// compiledServers lists the servers that nobody runs from modified sources.
var compiledServers = []string{"ollama", "llama.cpp", "hashcat", "blender", "miner"}

// withCUDA maps a word in a library's message that it has no CUDA to the steps that lead to a CUDA build.
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
	forked     = []string{"fork-after-cuda-init"}
	// itsOwn lists faults in kernels and calls, which nobody who only runs the program has written.
	itsOwn = append([]string{"device-side-assert", "device-assert", "index-out-of-range", "illegal-instruction",
		"misaligned-address", "invalid-address-space", "invalid-argument", "nan-in-probabilities", "tensor-refused",
		"xid-of-the-program", "launch-out-of-resources", "shape-mismatch", "sizes-do-not-agree"}, badAccess...)
	// notCompiled lists kernels that a compiler rejected, because of the GPU or of their source.
	notCompiled = []string{"triton-did-not-compile", "compile-backend-failed"}
	// notOneFamily lists what a model reports about parts that were made for another.
	notOneFamily = []string{"shape-mismatch", "sizes-do-not-agree", "batch-sizes-do-not-fit", "checkpoint-does-not-fit"}
)

// ofOneFamily lists the steps if parts of different models were combined.
var ofOneFamily = []string{
	"take model, text encoder, VAE, LoRA and ControlNet of one family (SD 1.5, SDXL, Flux, …): each fits only its own",
	"leave LoRA, ControlNet and other added parts out one at a time"}

// withRay lists the steps if a Ray actor finds no GPU. It has only the GPUs that Ray assigned.
var withRay = []string{
	"print in the actor, before anything is imported that uses CUDA: `ray.get_gpu_ids()` and os.environ.get('CUDA_VISIBLE_DEVICES'); both are empty where it asked for none (num_gpus, its placement group)",
	"if it was given GPUs, something looked for them before Ray did so: import torch and vllm inside the actor, not at the top of the module",
	"run `ray status`: it shows how many GPUs the cluster offers, and how many are taken"}

// stepsOfServer returns the steps for the cause in the program that wrote the logs, if it has its own.
func (j *judging) stepsOfServer(d *Diagnosis) ([]string, string) {
	if d.Cause == takenByOthers {
		return d.askForLess(j.kept), ""
	}
	if !slices.Contains(slices.Concat(outOfMemory, noGPU, itsOwn, notANumber, forked, notOneFamily, notCompiled), d.Cause) ||
		slices.Contains(slices.Concat(itsOwn, notOneFamily), d.Cause) && slices.ContainsFunc(j.records, record.Record.IsRaisedByOwnCode) {
		return nil, ""
	}
	if slices.Contains(noGPU, d.Cause) && containAny(j.kept, rays) {
		return withRay, ""
	}
	name := serverIn(j.kept, d.Lines)
	if name == "" && !containAny(j.kept, pythons) {
		name = compiledProgram
	}
	for _, s := range ownSteps {
		if s.server == name && slices.Contains(s.causes, d.Cause) {
			return s.do, ""
		}
	}
	return nil, ""
}

// skipPart returns the steps for an exception in a kernel package that a server can do without.
func (j *judging) skipPart(d *Diagnosis) ([]string, string) {
	if d.Blame != Program || len(d.Do) == 0 || !compiledParts.MatchString("/"+d.project+"/") {
		return nil, ""
	}
	server := serverIn(j.kept, d.Lines)
	if doWithout[server] == "" || strings.EqualFold(d.project, server) {
		return nil, ""
	}
	return slices.Insert(slices.Clone(d.Do), 1, doWithout[server]), ""
}

// installCUDABuild returns the steps that lead to a CUDA build of the library that says it has none.
func (j *judging) installCUDABuild(d *Diagnosis) ([]string, string) {
	if d.Cause != builtWithout || len(d.Lines) == 0 {
		return nil, ""
	}
	return stepsWithCUDA(d.Lines[0].Text), ""
}

// takenByOthers is the cause for memory that other processes hold.
const takenByOthers = "out-of-memory-other-process"

// askForLess returns the steps if other processes hold memory, with the server's own options if they may hold some.
func (d *Diagnosis) askForLess(logs [][]logtext.Line) []string {
	name := serverIn(logs, d.Lines)
	for _, s := range ownSteps {
		if s.server == name && slices.Contains(s.causes, "out-of-memory") && len(d.Do) > 1 {
			return append(slices.Clone(d.Do[:len(d.Do)-1]), "else "+s.do[0])
		}
	}
	return nil
}

// rays lists the marks of a process that Ray started.
var rays = []string{"ray::", "RayTaskError", "RayActorError", "RayWorker", "ray_distributed_executor", "ray_gpu_executor", "ray/_private/"}

// builtWithout is the cause for a library that says that it was built without CUDA.
const builtWithout = "library-built-without-cuda"

func stepsWithCUDA(line string) []string {
	for _, l := range withCUDA {
		if strings.Contains(line, l.mark) {
			return l.do
		}
	}
	return nil
}

// pythons lists the marks of a Python program.
var pythons = []string{".py", "python", "Python", "torch", "Traceback"}

// serverIn returns the name of the server that wrote a log, or "" for a training program of the user's own.
// TensorFlow's notices are in many PyTorch logs, so a message of PyTorch is never TensorFlow's.
func serverIn(logs [][]logtext.Line, decided []Line) string {
	not := []string{}
	if containAny(logs, training) {
		not = append(not, "diffusers", "inference")
	}
	if slices.ContainsFunc(decided, func(l Line) bool { return strings.Contains(l.Text, "orch") }) {
		not = append(not, "tensorflow", "jax")
	}
	i := slices.IndexFunc(servers, func(s server) bool {
		return !slices.Contains(not, s.name) && containAny(logs, s.marks)
	})
	if i < 0 {
		return ""
	}
	return servers[i].name
}

func containAny(logs [][]logtext.Line, marks []string) bool {
	return slices.ContainsFunc(logs, func(lines []logtext.Line) bool {
		return slices.ContainsFunc(lines, func(l logtext.Line) bool { return logtext.ContainsAny(l.Text, marks) })
	})
}
