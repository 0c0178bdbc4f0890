package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/logs"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/tables"
)

// Known is what the tables know about a word in a log.
type Known struct {
	Word     string
	Statuses []tables.Status
	Xid      *tables.Xid
	Ended    string // by what, where the word is a status of a process that a signal ended
	Library  *tables.Library
	OfDriver bool                // the word is a library of the NVIDIA driver
	Steps    map[string][]string // by cause: what to do, the likeliest first
}

// DescribeWord returns the page of a code, a name or a library, in Markdown, or nil if it is unknown.
func DescribeWord(k Known) []byte {
	if len(k.Statuses) == 0 && k.Xid == nil && k.Library == nil && k.Ended == "" && !k.OfDriver {
		return nil
	}
	p := &layout.Page{}
	p.WriteLine("# ", k.Word)
	for _, same := range k.meanings() {
		writeStatus(p, same, k.Steps[same[0].Cause])
	}
	if k.Ended != "" {
		writeSection(p, "Exit status "+k.Word)
		p.WriteWrapped(0, fmt.Sprintf("A signal ended the process: %s. Its log says more: `cudacompat explain LOG`.", k.Ended))
	}
	if k.Xid != nil {
		writeXid(p, k.Xid)
	}
	if k.Library != nil {
		writeLibrary(p, k.Library)
	}
	if k.OfDriver {
		writeDriverLibrary(p, k.Word)
	}
	return p.Bytes()
}

// writeDriverLibrary says where a library of the driver comes from.
func writeDriverLibrary(p *layout.Page, name string) {
	p.WriteLine()
	p.WriteWrapped(0, "Part of the NVIDIA driver. The CUDA toolkit and the pip packages of CUDA do not contain it: it must have the release of the kernel module that is loaded.")
	writeSection(p, "What to do")
	p.WriteWrapped(0, "If a program does not find it:")
	plaintext.WriteNumbered(p, []string{
		"on a host, run `nvidia-smi`: if it fails, install the driver, or repair it",
		"in a container, start it with the GPU (`docker run --gpus all`); the NVIDIA Container Toolkit mounts " + name +
			" from the host, with NVIDIA_DRIVER_CAPABILITIES=compute,utility",
		"run `cudacompat doctor`: it shows which copy a program loads, and whether its release is the module's",
	})
	p.WriteLine()
	p.WriteLine("More: `cudacompat explain driver-missing`, `cudacompat explain container-driver-libs`")
}

// meanings groups equal statuses: the driver API and the runtime share most codes.
func (k Known) meanings() [][]tables.Status {
	var groups [][]tables.Status
	for _, s := range k.Statuses {
		i := slices.IndexFunc(groups, func(g []tables.Status) bool {
			return g[0].Code == s.Code && g[0].Cause == s.Cause && g[0].Meaning == s.Meaning && s.Meaning != ""
		})
		if i < 0 {
			groups = append(groups, []tables.Status{s})
			continue
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// writeStatus says what a value of one or more APIs means, and what to do.
func writeStatus(p *layout.Page, same []tables.Status, steps []string) {
	var names, quoted, sources []string
	for _, s := range same {
		names = append(names, fmt.Sprintf("%s (%s %d)", s.Name, apiName(s.API), s.Code))
		if s.Text != "" && s.Meaning != "" {
			quoted = append(quoted, s.Text)
		}
		sources = append(sources, s.Source...)
	}
	writeSection(p, names[0])
	if len(names) > 1 {
		p.WriteWrapped(0, "The same as "+strings.Join(names[1:], ", ")+".")
		p.WriteLine()
	}
	first := same[0]
	meaning := cmp.Or(first.Meaning, first.Text, "no more is published than its name")
	p.WriteWrapped(0, capital(meaning)+". "+fault(logs.Blame(first.Blame)))
	if quoted = slices.Compact(quoted); len(quoted) > 0 {
		p.WriteLine()
		p.WriteLine("Error message: ", strings.Join(quoted, "; "))
	}
	if len(steps) > 0 {
		p.WriteLine()
		p.WriteLine("## What to do")
		plaintext.WriteNumbered(p, steps)
	}
	if first.Cause != "" {
		p.WriteLine()
		p.WriteLine("More: `cudacompat explain ", first.Cause, "`")
	}
	writeOrigin(p, sources)
}

// apiNames lists APIs whose names are not in capitals or need a second word.
var apiNames = map[string]string{
	"cublas": "cuBLAS", "cuda-driver": "CUDA driver API", "cuda-runtime": "CUDA runtime", "cudnn": "cuDNN",
	"cufft": "cuFFT", "curand": "cuRAND", "cusolver": "cuSOLVER", "cusparse": "cuSPARSE", "nvjitlink": "nvJitLink",
	"nvjpeg": "nvJPEG",
}

func apiName(api string) string { return cmp.Or(apiNames[api], strings.ToUpper(api)) }

// writeXid says what the driver's numbered error means, and what NVIDIA's catalogue advises.
func writeXid(p *layout.Page, x *tables.Xid) {
	writeSection(p, fmt.Sprintf("Xid %d, in the kernel log", x.Xid))
	p.WriteWrapped(0, strings.TrimRight(x.Meaning, ".")+". "+fault(logs.Blame(x.Blame)))
	if advice := xidAdvice[x.Action]; advice != "" {
		p.WriteLine()
		p.WriteLine("NVIDIA's advice: ", advice)
	}
	switch x.Action {
	case "restart-machine":
		p.WriteLine()
		p.WriteWrapped(0, "On EC2, stop and start the instance instead: a reboot keeps the same hardware. More: `cudacompat explain driver-unresponsive`")
	case "reset-gpu", "workflow-xid-48", "contact-support":
		p.WriteLine()
		p.WriteLine("What to do, step by step: `cudacompat explain gpu-health`")
	}
	writeOrigin(p, x.Source)
}

// xidAdvice maps the actions of NVIDIA's catalogue to advice. Some need none.
var xidAdvice = map[string]string{
	"check-power":          "check the GPU's power supply and its cables.",
	"check-uvm":            "look for messages of nvidia_uvm in the kernel log.",
	"contact-support":      "contact the vendor's support.",
	"reset-gpu":            "reset the GPU: stop the programs that use it, then run `nvidia-smi --gpu-reset`.",
	"restart-machine":      "restart the machine.",
	"restart-program":      "restart the program.",
	"update-software":      "update the driver and the program.",
	"workflow-nvlink-err":  "follow the catalogue's steps for NVLink errors.",
	"workflow-nvlink5-err": "follow the catalogue's steps for NVLink 5 errors.",
	"workflow-xid-48":      "follow the catalogue's steps for Xid 48 (uncorrectable memory errors).",
	"xid-154":              "do what the Xid 154 after it says.",
}

// writeLibrary says what a file belongs to, and which wheels bring it.
func writeLibrary(p *layout.Page, l *tables.Library) {
	p.WriteLine()
	p.WriteWrapped(0, fmt.Sprintf("Part of %s (builds for CUDA %s).", l.Library, strings.Join(l.CUDA, " and ")))
	writeSection(p, "What to do")
	p.WriteWrapped(0, "If a program does not find it, `cudacompat doctor` shows whether a copy is installed and which one is loaded. To install it, choose the wheel for the program's CUDA:")
	p.WriteLine()
	for i, pip := range l.Pip {
		cuda := ""
		if len(l.CUDA) == len(l.Pip) && len(l.Pip) > 1 {
			cuda = "  # for programs built with CUDA " + l.CUDA[i]
		}
		p.WriteLine("    pip install ", pip, cuda)
	}
	writeOrigin(p, l.Source)
}

func writeSection(p *layout.Page, title string) {
	p.WriteLine()
	p.WriteWrapped(3, title, "## ")
	p.WriteLine()
}

// capital capitalises a sentence, unless it begins with a library's name, such as cuBLAS.
func capital(text string) string {
	first, _, _ := strings.Cut(text, " ")
	if strings.ToLower(first) != first {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// sides says in a sentence which side is to blame.
var sides = map[logs.Blame]string{
	logs.Environment: "Usually the driver or the installed software is to blame, not the program.",
	logs.Program:     "Usually the program is to blame, not the driver or the installed software.",
	logs.Hardware:    "Usually the hardware is to blame.",
}

// fault says in a sentence on which side a fault usually is.
func fault(b logs.Blame) string {
	if b == logs.Unknown {
		return "The code does not tell whose fault it is; the rest of the log may."
	}
	return sides[b]
}

// writeOrigin names the sources. It shortens a wheel to name and version; `cudacompat matrix` has the hash.
func writeOrigin(p *layout.Page, sources []string) {
	var names []string
	for _, source := range sources {
		names = layout.AppendUnique(names, wheelName(source))
	}
	p.WriteLine()
	p.WriteWrapped(0, strings.Join(names, "; "), "Source: ")
}

// wheelName shortens "wheel NAME-VERSION-TAGS.whl sha256:…" to "wheel NAME VERSION".
func wheelName(source string) string {
	file, ok := strings.CutPrefix(source, "wheel ")
	parts := strings.Split(file, "-")
	if !ok || len(parts) < 3 {
		return source
	}
	return "wheel " + parts[0] + " " + parts[1]
}
