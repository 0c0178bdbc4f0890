package logs

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/logtext"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/version"
)

// Traces are the signs in a log of the machine that wrote it. The caller may be on that machine.
type Traces struct {
	Drivers []string // releases that it calls the driver's
	Files   []string // of its tracebacks
	GPUs    []GPU    // that it describes, if the tables know them
	Report  bool     // a description of the environment stands in it: collect_env's, nvidia-smi's, a list of packages
}

// GPU is a graphics card that a log describes.
type GPU struct {
	Name       string // "RTX 5090"
	Capability version.Capability
}

// maxTraces limits how many of each kind are kept.
const maxTraces = 32

// The words before a driver release, and the headings of environment descriptions.
var (
	driverRelease = lazyregexp.New(`(?i)(?:driver version|nvrm version|kernel module|driver)\b[^\d\n]{0,50}?\b(\d{3}\.\d{2,3}(?:\.\d{2,3})?)\b`)
	// namesGPU matches how nvidia-smi, collect_env, TensorFlow and PyTorch describe a GPU of the machine:
	//
	//	|   0  NVIDIA A10G                    On  | 00000000:00:1E.0 Off |                    0 |
	//	GPU 0: NVIDIA A10G (UUID: GPU-5a1f)
	//	name: NVIDIA A10G, pci bus id: 0000:00:1e.0, compute capability: 8.6
	//	NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
	namesGPU = lazyregexp.New(`^\|\s+\d+\s+(\S.*?)\s{2,}(?:On|Off|N/A)\s+\||\bGPU \d+: (.+?)(?: \(UUID.*)?$|` +
		`\bname: ([^,]+), pci bus id: |((?:NVIDIA|Tesla|GeForce|Quadro) [\w -]+?) with CUDA capability sm_`)
	describe = lazyregexp.New(`Collecting environment information|^PyTorch version: |\| NVIDIA-SMI \d|` +
		`^Package +Version|^Name: torch$|^torch==\d|^(?:torch|tensorflow|jax) +\d+\.\d[\w.+]*\s*$|` +
		`\bSuccessfully installed .*\b(?:torch|tensorflow|jax)-\d`)
)

// addSigns adds the signs in the lines of a log.
func (t *Traces) addSigns(lines []logtext.Line) {
	for _, l := range lines {
		if m := driverRelease.FindStringSubmatch(l.Text); m != nil {
			t.Drivers = addNew(t.Drivers, m[1])
		}
		if m := traceback.FrameLine.FindStringSubmatch(l.Text); m != nil {
			t.Files = addNew(t.Files, m[1]+m[4]+m[7])
		}
		if m := namesGPU.FindStringSubmatch(l.Text); m != nil {
			t.addGPU(m[1] + m[2] + m[3] + m[4])
		}
		t.Report = t.Report || describe.MatchString(l.Text)
	}
}

// addGPU adds a GPU that the tables know by its name.
func (t *Traces) addGPU(name string) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "NVIDIA ")
	chip := record.Tables().ChipNamed(name)
	if chip == nil || len(t.GPUs) == maxTraces {
		return
	}
	if gpu := (GPU{name, chip.Capability}); !slices.Contains(t.GPUs, gpu) {
		t.GPUs = append(t.GPUs, gpu)
	}
}

func addNew(list []string, word string) []string {
	if word == "" || len(list) == maxTraces || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}
