// Package readers reads what the matched values of a line mean: amounts of memory, shapes, devices, targets of a
// compiler, and names of libraries and extensions.
//
// A row of data/signature names its reader. The reader changes the finding's cause, blame, sentence or steps by the
// values, as when a program asked for more memory than the GPU has, or reports that the line means nothing here.
package readers

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/finding"
)

// ByName judge lines whose numbers decide. A reader may change the meaning of a finding. It returns false if the line
// is no fault.
var ByName = map[string]func(*finding.Finding) bool{
	"memory":     readMemory,
	"free":       readFree,
	"start":      readStart,
	"capability": readCapability,
	"types":      nameNumberTypes,
	"library":    readLibrary,
	"soname":     readSoname,
	"shapes":     readShapes,
	"extension":  readExtension,
	"cudas":      readTwoCUDAs,
	"devices":    readDevices,
	"target":     readTarget,
	"link":       readLink,
}

// ListSteps returns the steps of the readers' tables, by the packages or the sentence that they belong to.
func ListSteps() map[string][]string {
	all := map[string][]string{}
	for _, b := range rebuilt {
		all[b.packages] = b.do
	}
	for _, m := range slices.Concat(shapes, devices) {
		all[m.because] = append(all[m.because], m.do...)
	}
	return all
}

// readSize returns an amount of GPU memory in bytes. It returns false if the message does not give it.
func readSize(f *finding.Finding, name string) (bytes float64, said bool) {
	number, unit, _ := strings.Cut(strings.TrimSpace(f.Group(name)), " ")
	n, err := strconv.ParseFloat(number, 64)
	scale, known := units[unit]
	return n * scale, err == nil && known
}

var units = map[string]float64{"": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

// readMemory reads PyTorch's out-of-memory message, of which there are two forms:
//
//	Tried to allocate 4.30 GiB (GPU 0; 31.75 GiB total capacity; 8.97 GiB already allocated;
//	414.69 MiB free; 11.45 GiB reserved in total by PyTorch)
//	Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 41.56 MiB is free.
//	Including non-PyTorch memory, this process has 3.44 GiB memory in use. Of the allocated memory
//	2.58 GiB is allocated by PyTorch, and 1.90 MiB is reserved by PyTorch but unallocated.
//
// Memory that is neither free nor held by this process is held by others. Memory that is reserved and not allocated is
// in pieces too small for the request.
func readMemory(f *finding.Finding) bool {
	total, knowTotal := readSize(f, "total")
	free, knowFree := readSize(f, "free")
	allocated, knowAllocated := readSize(f, "allocated")
	own, knowOwn := readSize(f, "own")
	knowOwn = knowOwn && own <= total // under WSL PyTorch prints 17179869184 GiB
	slack, knowSlack := readSize(f, "slack")
	if reserved, said := readSize(f, "reserved"); said {
		slack, knowSlack = reserved-allocated, true
		own, knowOwn = reserved+contextSize, true
	}
	want, _ := readSize(f, "want")
	if !knowOwn && knowSlack {
		own, knowOwn = allocated+slack+contextSize, true
	}
	others := total - free - own
	switch {
	case want > total && knowTotal:
		f.Because = fmt.Sprintf("One request asked for %s on a GPU that has %s in all.", gib(want), gib(total))
	case knowTotal && knowFree && knowOwn && others > want && others > total*notable:
		blameOthers(f, total, others)
		if others > total*foreignShare || hasOneOther(f, total) {
			f.Blame = decide.Environment
		}
	case knowSlack && slack > want && slack > allocated*notable:
		blameFragments(f, want, slack)
	case knowTotal && allocated > total:
		f.Because += fmt.Sprintf(" PyTorch had %s allocated, more than the GPU's %s: Windows lends main memory, which is "+
			"slow.", gib(allocated), gib(total))
	case knowTotal && knowAllocated:
		f.Because += fmt.Sprintf(" The program asked for %s more; PyTorch had %s of %s allocated.", gib(want), gib(allocated),
			gib(total))
	case knowTotal && knowOwn:
		f.Because += fmt.Sprintf(" The program asked for %s more; the process held %s of %s.", gib(want), gib(own), gib(total))
	case knowTotal && knowFree:
		f.Because += fmt.Sprintf(" The program asked for %s; %s of %s were free.", gib(want), gib(free), gib(total))
	}
	return true
}

// readStart reads what vLLM prints before it has loaded anything, when what is not free is held by others:
//
//	Free memory on device cuda:0 (54.34/79.18 GiB) on startup is less than desired GPU memory
//	utilization (0.92, 72.85 GiB).
//
// If less than half is free, the rest is not a desktop or a small forgotten process: the GPU is in use.
func readStart(f *finding.Finding) bool {
	free, okFree := readSize(f, "free")
	total, okTotal := readSize(f, "total")
	want, _ := readSize(f, "want")
	free *= units["GiB"] // its unit stands behind the total
	if !okFree || !okTotal || free > total {
		return false
	}
	blameOthers(f, total, total-free)
	f.Because = fmt.Sprintf("Before vLLM loaded anything, only %s of the GPU's %s were free; %s were to be used.",
		gib(free), gib(total), gib(want))
	f.Do[2] = fmt.Sprintf("else let vLLM use less: --gpu-memory-utilization %.2f", math.Floor(free/total*100)/100)
	if free < total/2 {
		f.Blame = decide.Environment
	}
	return true
}

// contextSize allows for memory that a process holds outside PyTorch (the CUDA context, cuBLAS and cuDNN workspaces) if
// the message does not give it. notable is the share of the GPU, or of the allocated memory, from which the cause is
// elsewhere. Both are estimates, not measured.
const (
	contextSize = 1 << 30
	notable     = 0.1
)

// foreignShare is a share of a GPU that only another job holds, and large is the share of a single process that is
// another job. Ranks of one job that share a GPU by mistake hold equal amounts, and are several. Of 7 labelled logs,
// these limits misjudge one.
const (
	foreignShare = 0.7
	large        = 0.25
)

// holder matches PyTorch's words for another process on the GPU, with its memory.
var holder = lazyregexp.New(`Process \d+ has (\d+(?:\.\d+)?) GiB memory in use`)

// hasOneOther reports whether the message names exactly one other process that holds a large part of the GPU.
func hasOneOther(f *finding.Finding, total float64) bool {
	many := holder.FindAllStringSubmatch(f.Text, -1)
	if len(many) != 1 {
		return false
	}
	n, err := strconv.ParseFloat(many[0][1], 64)
	return err == nil && n*units["GiB"] > total*large
}

func blameOthers(f *finding.Finding, total, others float64) {
	f.Cause, f.Rule = "out-of-memory-other-process", "memory-in-use"
	f.Because = fmt.Sprintf("About %s of the GPU's %s is held neither by PyTorch in this process nor free: another "+
		"process, another rank on the same GPU, or a library outside PyTorch has it.", gib(others), gib(total))
	f.Do = []string{"see who holds it: nvidia-smi --query-compute-apps=pid,used_memory --format=csv (a container " +
		"shows only its own processes)",
		"end left-over processes, give each rank its own GPU, or choose a free GPU with CUDA_VISIBLE_DEVICES",
		"else ask for less: a smaller batch"}
}

func blameFragments(f *finding.Finding, want, slack float64) {
	f.Cause = "out-of-memory-fragmentation"
	f.Because = fmt.Sprintf("PyTorch holds %s that it does not use, but in pieces too small for the %s asked for.",
		gib(slack), gib(want))
	f.Do = []string{"set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (PyTorch 2.1 or newer)",
		"else ask for less: a smaller batch, shorter sequences or smaller pictures",
		"keep shapes the same from step to step: pad to fixed lengths"}
	if f.Signature.ID == "torch-memory-before-2-1" {
		f.Do[0], f.Do[1] = "ask for less: a smaller batch, shorter sequences or smaller pictures",
			"or set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 (PyTorch 1.10 or newer); this PyTorch is older than 2.1"
	}
}

func gib(bytes float64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
}

// readFree reads what TensorFlow and JAX print when cuDNN cannot start:
//
//	Memory usage: 7995392 bytes free, 11721572352 bytes total.
//
// If memory is free, the library is at fault; otherwise the memory is.
func readFree(f *finding.Finding) bool {
	free, okFree := readSize(f, "free")
	total, okTotal := readSize(f, "total")
	if !okFree || !okTotal {
		return false
	}
	if free > enoughForHandle {
		f.Cause, f.Blame, f.Rule = "cudnn-not-started", decide.Environment, "cudnn-mismatch"
		f.Because = fmt.Sprintf("cuDNN could not start although %s of %s are free: the cuDNN that is loaded does not fit "+
			"the framework, the GPU or the driver.", gib(free), gib(total))
		f.Do = []string{"cudacompat doctor names the cuDNN that is loaded and the one the framework needs",
			"take other cuDNN copies off LD_LIBRARY_PATH, or install the one of the framework's own extra"}
		return true
	}
	f.Because = fmt.Sprintf("Only %s of the GPU's %s were free when cuDNN wanted its workspace.", gib(free), gib(total))
	return true
}

// enoughForHandle is far more than a cuDNN handle takes, in bytes.
const enoughForHandle = 512 << 20

// readCapability reads PyTorch's warning about a GPU outside the range it was built for:
//
//	Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.
//	Minimum and Maximum cuda capability supported by this version of PyTorch is
//	(8.0) - (12.0)
//
// Machine code also runs on later minor versions of its major version, so a warning about those is a false alarm.
func readCapability(f *finding.Finding) bool {
	major, minor, _ := strings.Cut(f.With[0].Group("capability"), ".")
	least, leastMinor, _ := strings.Cut(f.Group("least"), ".")
	most, _, _ := strings.Cut(f.Group("most"), ".")
	older := number(major) < number(least) || major == least && number(minor) < number(leastMinor)
	return older || number(major) > number(most)
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}
