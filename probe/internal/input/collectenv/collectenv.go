// Package collectenv reads the environment reports that bug trackers ask for: PyTorch's collect_env and the shorter
// reports of other programs.
package collectenv

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/document"
)

// From is where the facts of a pasted report come from.
const From = "collect_env report"

// ReportLine matches "Key: value" of PyTorch's collect_env, "Key      : value" of vLLM's, and what people make of
// them when they paste: quote marks before it, full-width colons, a lost colon. The shorter reports of Hugging Face's
// programs ("- PyTorch version (GPU?): 2.4.1+cu121 (True)"), DeepSpeed's ("torch version ..... 2.7.0+cu128"), SGLang's
// and MMEngine's ("PyTorch: 2.7.1+cu126") and the columns of detectron2's ("PyTorch    1.13.1+cu116 @/usr/lib/torch")
// have some of its lines under names of their own, and so does xFormers' ("pytorch.version:   2.12.1+cu130").
var ReportLine = lazyregexp.New(`(?i)^[\s>*` + "`" +
	`-]*(PyTorch version|CUDA used to build PyTorch|ROCM used to build PyTorch|OS|Libc version|` +
	`Python version|Python platform|Is CUDA available|CUDA runtime version|GPU models and configuration|` +
	`Nvidia driver version|` + briefKeys + `)(?: \((?:GPU|accelerator)\?\))?\**(\s*(?:[:：]|\.{3,})|\s+)[\s*` + "`" + `]*(.*?)` +
	`[\s` + "`" + `]*$`)

const briefKeys = `torch version|torch cuda version|nvcc version|NVCC|Tensorflow version|Platform|GPU type|Accelerator|` +
	`CUDA Driver Version|CUDA available|GPU available|pytorch\.version|pytorch\.cuda|gpu\.name|PyTorch`

// briefKey are the keys that those lines have in the long report.
var briefKey = map[string]string{"torch version": "pytorch version", "torch cuda version": "cuda used to build pytorch",
	"nvcc version": "cuda runtime version", "nvcc": "cuda runtime version", "platform": "python platform", "accelerator": "gpu type",
	"cuda driver version": "nvidia driver version", "cuda available": "is cuda available", "gpu available": "is cuda available", "pytorch": "pytorch version",
	"pytorch.version": "pytorch version", "pytorch.cuda": "is cuda available", "gpu.name": "gpu type"}

// LongKey returns the key of a line in the long report. "CUDA Driver Version" is the driver's release in SGLang's
// report and the CUDA that it speaks in others: releases have three digits and more.
func LongKey(key, value string) string {
	if key == "cuda driver version" && cudaNumber.MatchString(value) {
		return "cuda of the driver"
	}
	return cmp.Or(briefKey[key], key)
}

// cudaNumber matches a version of CUDA, "12.8".
var cudaNumber = lazyregexp.New(`^\d{1,2}\.\d\b`)

// closedLine matches ends that no cut can leave of a longer value: of a last line without a line's end only these are
// read. "535.1" may have been 535.183.01, and "NVIDIA A10" an A100.
var closedLine = lazyregexp.New(`(?:[:：\s](?:True|False|None|N/A|Could not collect)|[:：]\s*1\d\.\d|` +
	`\b\d{3}\.\d{2,3}\.\d{2}|\+cu\d{3}|\+cpu|\((?:x86_64|aarch64|arm64|UUID: [^()]+|[^()]*\b64-bit[^()]*)\))\s*$`)

var (
	ReportGPU     = lazyregexp.New(`GPU\s+\d+\s*[:：]\s*([^()]+?)\s*(?:\(|$)`)
	reportGPU     = lazyregexp.New(`^[\s>*-]*GPU \d+: ((?:NVIDIA|Tesla|GeForce|Quadro|TITAN|GRID|RTX|GTX)\b[^:()]*?)\s*$`)
	reportAlike   = lazyregexp.New(`^GPU (\d+(?:,\d+)*)(?::| {2}) *([^:()]+?)\s*(?:\(arch=[\d.]+\))?$`)
	reportPackage = lazyregexp.New(`^[\s>*-]*\[pip3?\]\s+([A-Za-z0-9._-]+)==(\S+)\s*$`)
	reportConda   = lazyregexp.New(`^[\s>*-]*\[conda\]\s+pytorch\s+(\S+)\s+(\S+)\s+(\S+)`)
	reportArch    = lazyregexp.New(`supports CUDA capabilities ((?:(?:sm|compute)_\d+[af]? ?)+)`)
	reportNotFor  = lazyregexp.New(`(?:^|["\x60:])\s*([^"\x60:\s][^"\x60:]*?) with CUDA capability sm_(\d+)(\d) is not compatible ` +
		`with the current PyTorch installation`)
	reportNoMore = lazyregexp.New(`Found GPU\d+ (\S.*?) which is of (?:cuda|compute) capability ` +
		`(?:\(CC\) )?(\d+)\.(\d)(?:\.?\s|\.?$)`)
	reportModule = lazyregexp.New(`NVRM version: NVIDIA UNIX .*Kernel Module(?: for \S+)?\s+(\d{3}\.\d{2,3}(?:\.\d{2})?)\s`)
	reportTooOld = lazyregexp.New(`The NVIDIA driver on your system is too old \(found version (\d{4,5})\)`)
	PastedEnd    = lazyregexp.New(`(?:<br ?/?>)?\s*$`) // with the mark that a web page leaves
	platformArch = lazyregexp.New(`(x86_64|aarch64|arm64)`)
)

// reportTyped matches the GPU and the driver of a list that somebody typed: "- GPU: NVIDIA RTX 4080", "GPU model: RTX 4080",
// "NVIDIA driver: `580.88`", "Nvidia-driver: 460.91.03"; and the GPU of ComfyUI's report and log, "Device: cuda:0 NVIDIA
// GeForce RTX 4090 : cudaMallocAsync".
var reportTyped = lazyregexp.New(`(?i)^[\s>*\x60-]*(?:(?:(GPU)(?: models?| name)?|(?:NVIDIA[ -]|GPU )?driver(?: version)?)(?:[\s*]*[:：]|\s{2})[\s*\x60]*|` +
	`(?:Device|Name):[\s*]*cuda:\d+ )` +
	`(?:((?:NVIDIA|Tesla|GeForce|Quadro|RTX|GTX|TITAN)\b[^(,\x60]*?)|(\d{3}\.\d{2,3}(?:\.\d{2})?))\s*(?:[(,|\x60]| : |$)`)

// nvidiaName matches the name of a GPU as drivers give it; those before 450 left NVIDIA out.
var nvidiaName = lazyregexp.New(`^(?:NVIDIA|Tesla|GeForce|Quadro|TITAN|GRID)\b`)

// Is takes what is left if anything of a report stands anywhere in it, as people paste them: a line that stands
// in nothing else, or two of those that any text may have.
func Is(d document.Document) bool {
	loose := map[string]bool{}
	for line := range strings.Lines(string(d.Data)) {
		line = PastedEnd.ReplaceAllString(line, "")
		switch {
		case !(&reportReader{}).matters(line):
		case !LooseKey.MatchString(line) && !reportTyped.MatchString(line) && !reportGPU.MatchString(line) && adapterTells(line) == "" && jaxTells(line) == "":
			return true
		default:
			loose[looseTells(line)] = true
		}
		loose[jaxTells(line)] = true
	}
	delete(loose, "")
	return len(loose) > 1
}

// InSentence reports whether what stands between a key and its value is what stands between two words: a column is
// wider.
func InSentence(between string) bool { return len(between) == 1 && strings.TrimSpace(between) == "" }

// looseTells returns which part of a machine a line tells that any text may have: the torch, whether it sees a GPU, the
// GPU, the driver; empty of any other.
func looseTells(line string) string {
	if m := reportTyped.FindStringSubmatch(line); m != nil {
		return "typed" + m[1]
	}
	if reportGPU.MatchString(line) {
		return "typedGPU"
	}
	if tells := adapterTells(line); tells != "" {
		return tells
	}
	m := ReportLine.FindStringSubmatch(line)
	if m == nil || InSentence(m[2]) {
		return ""
	}
	switch key := strings.ToLower(m[1]); {
	case key == "tensorflow version" && document.LeadVersion.MatchString(m[3]):
		return key
	case briefKey[key] == "pytorch version" && document.LeadVersion.MatchString(m[3]), briefKey[key] == "is cuda available":
		return briefKey[key]
	}
	return ""
}

// LooseKey matches lines that any text may hold beside those of a report: "OS: Ubuntu", a line of pip's.
var LooseKey = lazyregexp.New(`(?i)^\W*(?:(?:OS|Python version|Platform|GPU type|Accelerator|(?:CUDA|GPU) available|` +
	`(?:torch|nvcc|Tensorflow) version|NVCC)\b|PyTorch\s*(?:[^\sv]|$))`)

// Parse reads the environment report that bug trackers ask for: PyTorch's old and new form and vLLM's, whole
// or cut off, with other text around it. What PyTorch itself warns of beside it counts, too.
func Parse(text string) facts.Facts {
	r := &reportReader{torch: facts.Build{Name: "torch", From: From}, seen: map[string]bool{}}
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") && !closedLine.MatchString(line) {
			r.cut = r.matters(line)
			break
		}
		r.read(PastedEnd.ReplaceAllString(strings.ReplaceAll(line, "\u00a0", " "), ""))
	}
	return r.facts()
}

// reportReader is a report on its way into Facts.
type reportReader struct {
	facts.Facts
	torch    facts.Build
	more     []facts.Build // TensorFlow
	python   string
	packages []facts.Package
	listing  bool            // inside the list of GPUs
	section  string          // of Lightning's report
	queried  string          // the GPU of deviceQuery's lines
	adapter  string          // the display adapter that Windows' list names
	current  string          // the GPU of a line that names PyTorch's current one, until a list names it
	seen     map[string]bool // the keys of its lines, in lower case
	cut      bool            // its last line may lack its end, and was not read
	brief    bool            // one of the short reports, which name no driver
	jax      string          // the release of JAX's report
	block    bool            // among the lines of a report
	lscpu    bool            // among those that lscpu prints
	strange  []string        // fields that are neither read nor known to need no reading
}

// matters reports whether a line would be read.
func (r *reportReader) matters(line string) bool {
	return ReportLine.MatchString(line) || reportPackage.MatchString(line) || reportArch.MatchString(line) ||
		reportNotFor.MatchString(line) || reportNoMore.MatchString(line) || reportTooOld.MatchString(line) ||
		reportTyped.MatchString(line) || reportGPU.MatchString(line) || adapterTells(line) != "" || isAdapterRow(line) || reportModule.MatchString(line) || queryDevice.MatchString(line) ||
		queryCUDA.MatchString(line) || queryCapability.MatchString(line) || lightningCUDA.MatchString(line) ||
		comfyDevice.MatchString(line) || deviceName.MatchString(line) || jaxTells(line) != "" || r.listing && ReportGPU.MatchString(line)
}

func (r *reportReader) read(line string) {
	r.noteField(line)
	if m := reportPackage.FindStringSubmatch(line); m != nil {
		if name := distname.Normal(m[1]); distname.Companions.Match(name) {
			r.packages = append(r.packages, facts.Package{Name: name, Version: m[2], Path: From})
		}
		return
	}
	if m := reportConda.FindStringSubmatch(line); m != nil && m[3] != "pypi" {
		r.torch.Origin = distname.CondaOrigin(m[2])
		return
	}
	if r.readWarning(line) || r.readQuery(line) || r.readLightning(line) || r.readJAX(line) || r.readComfy(line) || r.readAdapter(line) {
		return
	}
	if m := reportModule.FindStringSubmatch(line); m != nil { // of /proc/driver/nvidia/version
		r.takeTyped("", m[1])
		return
	}
	if m := ReportLine.FindStringSubmatch(line); m != nil {
		key := strings.ToLower(m[1])
		if (key == "os" || LooseKey.MatchString(key)) && InSentence(m[2]) {
			return // a sentence that begins so
		}
		r.brief = r.brief || briefKey[key] == "pytorch version"
		key = LongKey(key, m[3])
		r.listing = false
		r.seen[key] = true
		r.field(key, m[3])
		return
	}
	if m := reportTyped.FindStringSubmatch(line); m != nil {
		r.takeTyped(m[2], m[3])
	} else if r.listing {
		r.gpu(line)
	} else if m := reportAlike.FindStringSubmatch(line); m != nil && r.seen["is cuda available"] { // SGLang's "GPU 0,1: NVIDIA L4"
		for range strings.Count(m[1], ",") + 1 {
			r.GPUs = append(r.GPUs, facts.GPU{Name: m[2], From: []string{From}})
		}
	} else if m := reportGPU.FindStringSubmatch(line); m != nil { // a line of a report's list without its heading
		r.GPUs = append(r.GPUs, facts.GPU{Name: m[1], From: []string{From}})
	}
}

// takeTyped takes a GPU or a driver that somebody typed, where no report names one.
func (r *reportReader) takeTyped(gpu, driver string) {
	if gpu != "" && len(r.GPUs) == 0 {
		r.GPUs = []facts.GPU{{Name: gpu, From: []string{From}}}
	}
	if driver != "" && r.Driver.Version == "" {
		r.Driver.Version, r.Driver.From = driver, From
	}
	r.brief = true
}

// field reads one line of the report. "Could not collect" and "N/A" are how it says that it does not know.
func (r *reportReader) field(key, value string) {
	said := value != "" && value != "Could not collect" && value != "N/A"
	switch key {
	case "pytorch version":
		if said && r.torch.Version == "" && document.LeadVersion.MatchString(value) {
			r.torch.Version = strings.Trim(strings.Fields(value)[0], "`,")
			r.Observed.Imported = true
			r.sees(value)
		}
	case "tensorflow version":
		if said && document.LeadVersion.MatchString(value) {
			r.more = []facts.Build{{Name: "tensorflow", Version: strings.Fields(value)[0], From: From}}
		}
	case "gpu type":
		if name, _, _ := strings.Cut(value, ","); nvidiaName.MatchString(name) && !HasGPUNamed(r.GPUs, name) {
			r.current = name
			r.GPUs = append(r.GPUs, facts.GPU{Name: name, From: []string{From}})
		}
	case "cuda used to build pytorch":
		r.builtWith(value, said)
	case "rocm used to build pytorch":
		if said {
			r.torch.Accelerator = "rocm"
		}
	case "python version":
		r.python = document.LeadVersion.FindString(value)
		if r.System.OS == "" && strings.Contains(value, "[MSC v.") { // Microsoft's compiler
			r.System.OS = facts.Windows
		}
	case "is cuda available":
		r.available(value)
	case "cuda runtime version":
		if _, release, ok := strings.Cut(value, "release "); ok { // NVCC: Cuda compilation tools, release 12.8, V12.8.93
			value = release
		}
		if v := document.LeadVersion.FindString(value); v != "" {
			r.Toolkits = append(r.Toolkits, facts.Toolkit{Version: document.TwoParts(v), From: From})
		}
	case "gpu models and configuration":
		r.listing = true
		r.gpu(value)
	case "cuda of the driver":
		r.Driver.CUDA, r.Driver.CUDAFrom = document.LeadVersion.FindString(value), From
	case "nvidia driver version":
		if v := document.LeadVersion.FindString(value); v != "" && r.Driver.Version == "" {
			r.Driver.Version, r.Driver.From = v, From
		}
	default:
		r.system(key, value, said)
	}
}

// system takes a line about the system under the report's programs.
func (r *reportReader) system(key, value string, said bool) {
	switch key {
	case "os":
		if said {
			r.os(value)
			r.System.ID, r.System.IDLike = distribution(value)
			r.arch(value)
		}
	case "libc version":
		if v := document.LeadVersion.FindString(strings.TrimPrefix(value, "glibc-")); v != "" {
			r.System.Libc, r.System.LibcFrom = v, From
		}
	case "python platform":
		r.System.WSL = r.System.WSL || strings.Contains(value, "microsoft")
		r.System.Jetson = r.System.Jetson || strings.Contains(value, "-tegra-")
		if r.System.OS == "" && strings.HasPrefix(value, "Windows") {
			r.System.OS = value
		}
		r.arch(value)
	}
}

// os takes the name of the system: "nt" and "win32" are Python's own names of Windows, and whoever writes "Windows 11
// (WSL2)" means the Linux in it.
func (r *reportReader) os(value string) {
	switch lower := strings.ToLower(value); {
	case strings.Contains(lower, "wsl"):
		r.System.WSL = true
	case lower == "nt" || lower == "win32" || lower == "win10" || lower == "win11":
		value = facts.Windows
	}
	r.System.OS = value
}

// distributions are how systems name themselves, and what os-release would call them and those that they derive from.
var distributions = []struct{ name, id, like string }{
	{"Ubuntu", "ubuntu", "debian"}, {"Debian", "debian", ""}, {"Amazon Linux", "amzn", "fedora"},
	{"Red Hat Enterprise Linux", "rhel", "fedora"}, {"Rocky Linux", "rocky", "rhel centos fedora"},
	{"AlmaLinux", "almalinux", "rhel centos fedora"}, {"Oracle Linux", "ol", "fedora"},
	{"CentOS", "centos", "rhel fedora"},
	{"Fedora", "fedora", ""}, {"openSUSE", "opensuse", "suse"}, {"SUSE", "sles", "suse"}, {"Arch Linux", "arch", ""},
}

// distribution returns what a report's line tells of the system, "Ubuntu 22.04.5 LTS (x86_64)"; empty of an unknown
// one.
func distribution(os string) (id, like string) {
	for _, d := range distributions {
		if strings.HasPrefix(os, d.name) {
			return d.id, d.like
		}
	}
	return "", ""
}

// builtWith reads "12.6", "10.1.243", or "None" of a build for CPUs. Where PyTorch could be imported, collect_env wrote
// "Could not collect" for that None (its replace_nones); "N/A" says that it could not.
func (r *reportReader) builtWith(value string, said bool) {
	switch {
	case value == "None" || value == "Could not collect" && r.torch.Version != "":
		if r.torch.Accelerator == "" {
			r.torch.Accelerator = "cpu"
		}
	case said && document.LeadVersion.MatchString(value):
		r.torch.CUDA, r.torch.Accelerator = document.TwoParts(document.LeadVersion.FindString(value)), "cuda"
	}
}

// sees reads what stands after the version in the short reports: "(True)", "(CUDA)".
func (r *reportReader) sees(value string) {
	_, sees, brief := strings.Cut(strings.TrimSuffix(value, ")"), " (")
	r.brief = r.brief || brief
	r.available(strings.Replace(sees, "CUDA", "True", 1))
}

func (r *reportReader) available(value string) {
	if seen := CudaSeen(value); seen != nil {
		r.Observed.CUDAAvailable = seen
	}
}

// CudaSeen reports whether a report says that PyTorch sees CUDA; nil where it does not say.
func CudaSeen(value string) *bool {
	var seen bool
	switch strings.ToLower(value) {
	case "true", "yes", "available":
		seen = true
	case "false", "no", "not available":
	default:
		return nil
	}
	return &seen
}

func (r *reportReader) arch(text string) {
	if m := platformArch.FindString(text); m != "" {
		r.System.Arch = strings.Replace(m, "arm64", "aarch64", 1)
	}
}

func (r *reportReader) gpu(line string) {
	switch m := ReportGPU.FindStringSubmatch(line); {
	case m == nil:
	case m[1] == r.current:
		r.current = ""
	default:
		r.GPUs = append(r.GPUs, facts.GPU{Name: m[1], From: []string{From}})
	}
}

// readWarning reads what PyTorch prints where it has no code for a GPU, the code that it has and the GPU, and where
// the driver is too old: the driver's CUDA, 11040 for 11.4.
func (r *reportReader) readWarning(line string) bool {
	if m := reportTooOld.FindStringSubmatch(line); m != nil {
		number, _ := strconv.Atoi(m[1])
		r.Driver.CUDA, r.Driver.CUDAFrom = fmt.Sprintf("%d.%d", number/1000, number%1000/10), From
		return true
	}
	arch := reportArch.FindStringSubmatch(line)
	if arch != nil {
		r.torch.SASS, r.torch.PTX = nil, nil
		for _, code := range strings.Fields(arch[1]) {
			if strings.HasPrefix(code, "sm_") {
				r.torch.SASS = append(r.torch.SASS, code)
			} else {
				r.torch.PTX = append(r.torch.PTX, code)
			}
		}
	}
	m := reportNotFor.FindStringSubmatch(line)
	if m == nil {
		m = reportNoMore.FindStringSubmatch(line)
	}
	if m == nil {
		return arch != nil
	}
	at := slices.IndexFunc(r.GPUs, func(g facts.GPU) bool { return g.Name == m[1] })
	if at < 0 {
		at = len(r.GPUs)
		r.GPUs = append(r.GPUs, facts.GPU{Name: m[1], From: []string{From}})
	}
	r.GPUs[at].Capability = m[2] + "." + m[3]
	return true
}

// facts closes the report. What is not in it stays empty: a report that was cut off is no proof of absence.
func (r *reportReader) facts() facts.Facts {
	f := r.Facts
	builds := r.more
	if i := slices.IndexFunc(r.packages, func(p facts.Package) bool { return p.Name == "torch" }); i >= 0 &&
		r.torch.Version == "" { // it could not be imported, or its lines are missing
		r.torch.Version = r.packages[i].Version
	}
	if r.torch.Version != "" || len(r.torch.SASS) > 0 {
		if r.torch.Origin == "" {
			r.torch.Origin = distname.LocalOrigin(r.torch.Version)
		}
		if r.torch.Origin == "" && r.torch.Accelerator == "cuda" {
			r.torch.Origin = distname.PlainOrigin(r.torch.Version)
		}
		builds = append([]facts.Build{r.torch}, builds...)
	}
	builds = append(builds, r.jaxBuild()...)
	if len(builds) > 0 {
		f.Environments = []facts.Environment{{Python: r.python, Builds: builds, Packages: r.packages}}
	}
	if len(r.seen) > 0 {
		f.Probes = []facts.Status{r.status()}
	}
	return f
}

// status reports whether the report is whole, as far as can be seen.
func (r *reportReader) status() facts.Status {
	s := facts.Status{Name: "collect-env", Status: "ok"}
	switch {
	case r.cut:
		s.Status, s.Error = "failed", From+": the last line may be cut off and was not read"
	case r.seen["pytorch version"] && !r.brief && !r.seen["nvidia driver version"]:
		s.Status, s.Error = "failed", From+`: no line "Nvidia driver version" in it; is it cut off?`
	case len(r.strange) > 0:
		s.Error = facts.NotRead + strings.Join(r.strange, ", ")
	}
	return s
}

// HasGPUNamed reports whether one of several GPUs has a name, which nvidia-smi may cut short.
func HasGPUNamed(gpus []facts.GPU, name string) bool {
	bare := func(s string) string {
		return strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(s), "nvidia "), "geforce ")
	}
	return slices.ContainsFunc(gpus, func(g facts.GPU) bool {
		return strings.HasPrefix(bare(g.Name), bare(name)) || strings.HasPrefix(bare(name), bare(g.Name))
	})
}
