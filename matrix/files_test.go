package matrix

import (
	"context"
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// TestFilesOfRepositories: kinds of files that were judged wrongly in a well-known repository, each on an L4 with driver
// 550: the outcome, the first answer, and the first command of the first finding with one.
func TestFilesOfRepositories(t *testing.T) {
	const pytorch = "https://download.pytorch.org/whl/"
	for _, c := range []struct{ name, text, want string }{
		{"pip's torch beside conda's cudatoolkit",
			"dependencies:\n  - cudatoolkit=11.8.0\n  - pip:\n    - torch==2.7.1\n    - torchaudio==2.7.1\n",
			"compatible|works-minor-version|"},
		{"a source for another platform", "[project]\ndependencies = [\"torch==2.8.0\"]\n" +
			"[[tool.uv.index]]\nname = \"c\"\nurl = \"" + pytorch + "cpu\"\n" +
			"[[tool.uv.index]]\nname = \"g\"\nurl = \"" + pytorch + "cu128\"\n[tool.uv.sources]\ntorch = [" +
			"{ index = \"c\", marker = \"platform_machine != 'x86_64' and sys_platform != 'darwin'\" }," +
			"{ index = \"g\", marker = \"platform_machine == 'x86_64'\" }]\n", "compatible|works-minor-version|"},
		{"one library for two Pythons", "version = 1\n" +
			uvPackage("torch", "2.7.1", "") + uvPackage("nvidia-cudnn-cu12", "9.5.1.17", "python_full_version < '3.13'") +
			uvPackage("nvidia-cudnn-cu12", "9.5.1.18", "python_full_version >= '3.13'"),
			"compatible|works-minor-version|"},
		{"the project itself is named after a CUDA", "version = 1\n[[package]]\nname = \"base-cu130\"\n" +
			"version = \"2.0.0\"\nsource = { virtual = \".\" }\n" + uvPackage("torch", "2.7.1", ""),
			"compatible|works-minor-version|"},
		{"a group that uv sync leaves out", "version = 1\n[[package]]\nname = \"app\"\nversion = \"1\"\n" +
			"source = { editable = \".\" }\ndependencies = [{ name = \"numpy\" }, { name = \"torch\", version = \"2.7.1\" }]\n" +
			"[package.dev-dependencies]\ndev = [{ name = \"pytest\" }]\n" +
			"new = [{ name = \"torch\", version = \"2.11.0\" }, { name = \"flash-attn\" }]\n" +
			uvPackage("numpy", "2.1.0", "") + uvPackage("torch", "2.7.1", "") + uvPackage("torch", "2.11.0", "") +
			uvPackage("flash-attn", "2.8.3", ""), "compatible|broken|"},
		{"an extra that needs CUDA, and nothing else", "version = 1\n[[package]]\nname = \"app\"\nversion = \"1\"\n" +
			"source = { virtual = \".\" }\n[package.optional-dependencies]\n" +
			"gpu = [{ name = \"app\", extra = [\"new\"] }]\nnew = [{ name = \"torch\" }]\n" +
			uvPackage("torch", "2.11.0", ""), "incompatible|broken|pip install torch==2.11.0+cu126 --index-url " + pytorch + "cu126"},
		{"a pin stays in the range", "torch~=2.8.0\n--index-url " + pytorch + "cpu\n",
			"incompatible|broken|pip install torch==2.8.0+cu126 --index-url " + pytorch + "cu126"},
		{"a pin of a group is for no directory", "[dependency-groups]\ngpu = [\"torch==2.11.0\"]\n",
			"incompatible|broken|pip install torch==2.11.0+cu126 --index-url " + pytorch + "cu126"},
		{"two families, and no build tells its own", "torch>=2.9\nnvidia-nccl-cu13==2.27.7\nnvidia-nccl-cu12==2.27.5\n",
			"inconclusive|unknown|"},
		{"two parts of a release are three", "torch==2.7\n", "compatible|works-minor-version|"},
		{"every release of a range has one answer", "torch==2.6.*\n", "compatible|works|"},
		{"of a range to the next minor one", "torch~=2.8.0\n", "compatible|works-minor-version|"},
		{"of an index that gets no more releases", "torch\n--index-url " + pytorch + "cu118\n", "compatible|works|"},
		{"of an index that gets more", "torch\n--index-url " + pytorch + "cu130\n",
			"incompatible|broken|pip install torch==2.14.1+cu126 --index-url " + pytorch + "cu126"},
		{"a range of which the newest is too new", "torch~=2.15.0\n",
			"incompatible|broken|pip install torch==2.14.1+cu126 --index-url " + pytorch + "cu126"},
		{"a range that has what the tables do not", "torch<=2.6\n", "compatible|works|"},
		{"whichever Python it is", "torch\n", "inconclusive|unknown|"},
		{"a range that an engine holds back", "torch<2.9\nvllm==0.30.0\n", "inconclusive|unknown|"},
		{"an engine's own image", "FROM vllm/vllm-openai:v0.11.2\n", "compatible|works-minor-version|"},
		{"a torch that replaces the image's", "FROM nvcr.io/nvidia/pytorch:24.08-py3\nRUN pip install torch==2.6.0\n",
			"compatible|works|"},
		{"a lock of conda without CUDA's libraries", "version: 6\nenvironments:\n  default:\n    packages:\n      linux-64:\n" +
			"      - pypi: https://x.example/tensorflow-2.17.0-cp310-cp310-manylinux_2_17_x86_64.whl\n", "inconclusive|unknown|"},
		{"a range whose releases differ", "torch>=2.6,<2.14\n", "inconclusive|unknown|"},
		{"pip replaces what a range does not have", "FROM python:3.12\nRUN pip install torch==2.9.1 --index-url " + pytorch +
			"cu126\nRUN pip install 'torch<=2.9,>=2.8' --index-url " + pytorch + "cu130\n",
			"incompatible|broken|pip install torch==2.9.0+cu126 --index-url " + pytorch + "cu126"},
		{"what needs any torch takes an image's", "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime\nRUN pip install timm==1.0.27\n",
			"compatible|works|"},
		{"and a companion's", "accelerate==1.9.0\ntorchvision==0.22.1\n", "compatible|works|"},
		{"and nobody's", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN pip install timm==1.0.27\n", "inconclusive|works|"},
		{"a range of torch within a minor version", "torch-tensorrt==2.8.0\n", "compatible|works|"},
		{"of several", "lmdeploy==0.10.0\n", "inconclusive|unknown|"},
		{"CUDA's image in the other registry", "FROM nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04\n", "compatible|works|"},
		{"an extra that tells a CUDA", "foo[cuda13]==1.0\n", "incompatible|broken|"},
		{"an extra that asks for a GPU", "foo[gpu]==1.0\ntorch==2.6.0\n", "inconclusive|works|"},
		{"an extra of another kind", "foo[curl]==1.0\ntorch==2.6.0\n", "compatible|works|"},
		{"a file's option behind a requirement", "torch==2.6.0 -f https://x.example/\n", "compatible|works|"},
		{"TensorFlow without its libraries", "tensorflow==2.20.0\n", "inconclusive|unknown|"},
		{"with them", "tensorflow[and-cuda]==2.20.0\n", "compatible|works-minor-version|"},
		{"with some wheel of them", "tensorflow==2.20.0\nnvidia-cudnn-cu12==9.10.2.21\n", "compatible|works-minor-version|"},
		{"beside a torch that brings them", "tensorflow==2.20.0\ntorch==2.8.0\n", "compatible|works-minor-version|"},
		{"beside a torch of another cuDNN", "tensorflow==2.15.0.post1\ntorch==2.7.0\n", "inconclusive|works-minor-version|"},
		{"beside a torch of its own cuDNN", "tensorflow==2.15.0.post1\ntorch==2.2.0\n", "compatible|works|"},
		{"with a wheel of another cuDNN", "tensorflow==2.15.0.post1\nnvidia-cudnn-cu12==9.1.0.70\n",
			"incompatible|broken|pip install --no-deps nvidia-cudnn-cu12==8.9.4.25"},
		{"beside a torch of another CUDA", "tensorflow==2.20.0\ntorch==2.9.0+cu130\n",
			"incompatible|broken|pip install torch==2.9.0+cu126 --index-url " + pytorch + "cu126"},
		{"in an image without them", "FROM python:3.12\nRUN pip install tensorflow==2.20.0\n", "inconclusive|unknown|"},
		{"in an image without cuDNN", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN pip install tensorflow==2.18.0\n",
			"inconclusive|unknown|"},
		{"in an image with cuDNN", "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\n" +
			"RUN pip install tensorflow==2.18.0\n", "compatible|works-minor-version|"},
		{"a lock without them", "version = 1\n" + uvPackage("tensorflow", "2.18.0", ""), "inconclusive|unknown|"},
		{"ONNX Runtime without them", "onnxruntime-gpu==1.23.2\n", "inconclusive|unknown|"},
		{"ONNX Runtime with them", "onnxruntime-gpu[cuda,cudnn]==1.23.2\n", "compatible|works|"},
		{"ONNX Runtime beside a torch", "onnxruntime-gpu==1.23.2\ntorch==2.8.0\n", "compatible|works|"},
		{"ONNX Runtime with wheels of another CUDA", "onnxruntime-gpu==1.18.0\nnvidia-cublas-cu12==12.4.5.8\nnvidia-cudnn-cu12==9.1.0.70\n", "inconclusive|unknown|"},
		{"ONNX Runtime with wheels of its CUDA", "onnxruntime-gpu==1.18.0\nnvidia-cublas-cu11==11.11.3.6\nnvidia-cudnn-cu11==8.9.6.50\n", "compatible|works|"},
		{"CTranslate2 without them", "ctranslate2==4.6.0\n", "inconclusive|unknown|"},
		{"a JAX that takes them from the machine", "jax[cuda12-local]==0.5.0\n", "inconclusive|unknown|"},
		{"a JAX that brings them", "jax[cuda12]==0.5.0\n", "compatible|works|"},
		{"a TensorFlow for CPUs asks for none", "tensorflow-cpu==2.20.0\n",
			"incompatible|broken|pip install 'tensorflow[and-cuda]==2.20.0'"},
		{"PyTorch's own image", "FROM pytorch/pytorch:2.9.0-cuda12.6-cudnn9-runtime\n", "compatible|works-minor-version|"},
		{"of another CUDA", "FROM pytorch/pytorch:2.9.0-cuda13.0-cudnn9-devel\n", "incompatible|broken|"},
		{"a range that the image's torch fulfils", "FROM pytorch/pytorch:2.9.0-cuda13.0-cudnn9-devel\nRUN pip install 'torch>=2.8'\n",
			"incompatible|broken|"},
		{"one that it does not", "FROM pytorch/pytorch:2.8.0-cuda12.9-cudnn9-devel\nRUN pip install 'torch>=2.9' --index-url " +
			pytorch + "cu130\n", "incompatible|broken|pip install torch==2.14.1+cu126 --index-url " + pytorch + "cu126"},
		{"one that an image's unknown torch may fulfil", "FROM example/pytorch:th2.6.0-cu124\nRUN pip install 'torch>=2.4'\n",
			"inconclusive|unknown|"},
		{"NVIDIA's registry", "FROM nvcr.io/nvidia/cuda:13.0.1-base-ubuntu24.04\n", "inconclusive|unknown|"},
		{"a Dockerfile's files", "FROM python:3.12\nCOPY r.txt /\nRUN uv pip sync /r.txt\n", "inconclusive||"},
		{"dependencies that a program computes", "[project]\nname = \"x\"\ndynamic = [\"dependencies\"]\n",
			"inconclusive||"},
	} {
		node, err := probe.GivenFile(probe.Document{Name: "x", Data: []byte(c.text)})
		if err != nil {
			t.Fatal(c.name, err)
		}
		v := Check(context.Background(), Embedded(), node, []Target{{Driver: "550.90.07", GPUs: []string{"L4"}}}, verdict.Policy{})
		answer, command := "", ""
		for _, a := range v.Answers {
			answer = string(a.Answer)
		}
		for _, f := range v.Findings {
			if len(f.Pins) > 0 && f.Severity != verdict.Note && command == "" {
				command = f.Pins[0].Commands["pip"]
			}
		}
		if got := strings.Join([]string{string(v.Outcome), answer, command}, "|"); got != c.want {
			t.Errorf("%s: %s, want %s:\n%s", c.name, got, c.want, summary(v, everyRule))
		}
	}
}

func uvPackage(name, version, marker string) string {
	text := "[[package]]\nname = \"" + name + "\"\nversion = \"" + version + "\"\n" +
		"source = { registry = \"https://mirror.example/simple\" }\n"
	if marker != "" {
		text += "resolution-markers = [\"" + marker + "\"]\n"
	}
	return text
}

// TestImagesLibcuda: what is installed over an image of NVIDIA's may load the cuda-compat library that is in it.
func TestImagesLibcuda(t *testing.T) {
	for image, want := range map[string]verdict.Outcome{"nvcr.io/nvidia/pytorch:26.03-py3": verdict.Inconclusive, "python:3.12": verdict.Incompatible,
		"nvidia/cuda:13.0.1-base-ubuntu24.04": verdict.Inconclusive, "nvidia/cuda:12.4.1-base-ubuntu22.04": verdict.Incompatible} {
		text := "FROM " + image + "\nRUN pip install torch==2.9.0+cu130\n"
		if v := fileOn(t, Embedded(), text, "535.183.01", "L4"); v.Outcome != want {
			t.Errorf("%s: %s, want %s:\n%s", image, v.Outcome, want, summary(v, everyRule))
		}
	}
}

// TestPaddleForOneCUDA: what PaddlePaddle's version tells of CUDA.
func TestPaddleForOneCUDA(t *testing.T) {
	for text, want := range map[string]verdict.Outcome{"2.6.1.post120": verdict.Incompatible, "2.6.1.post112": verdict.Inconclusive,
		"1.8.5.post107": verdict.Inconclusive} {
		if v := fileOn(t, Embedded(), "paddlepaddle-gpu=="+text+"\n", "470.256.02", "A100"); v.Outcome != want {
			t.Errorf("%s: %s, want %s:\n%s", text, v.Outcome, want, summary(v, everyRule))
		}
	}
}

// TestTorchcodec: a torchcodec that a file names is compared with the torch beside it by their own page's pairs.
func TestTorchcodec(t *testing.T) {
	for text, want := range map[string]string{
		"torch==2.9.0\ntorchcodec==0.1.0\n":   "pip install --no-deps torchcodec==0.9.1",
		"torch==2.8.0\ntorchcodec==0.17.0\n":  "pip install --no-deps torchcodec==0.7.0",
		"torch==2.9.1\ntorchcodec==0.8.0\n":   "",
		"torch==2.12.0\ntorchcodec==0.14.0\n": "",
	} {
		node, err := probe.GivenFile(probe.Document{Name: "requirements.txt", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		v := Check(context.Background(), Embedded(), node, []Target{{Driver: "580.95.05", GPUs: []string{"L4"}}}, verdict.Policy{})
		got := ""
		for _, f := range v.Findings {
			if f.Rule == "companion-mismatch" && f.Severity != verdict.Note {
				for _, p := range f.Pins {
					got = p.Commands["pip"]
				}
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
