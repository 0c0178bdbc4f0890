package plaintext

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
)

// gap is a missing fact, with everything that needs it under one rule.
type gap struct {
	verdict.Missing
	subjects []string
	targets  []string // those that it is missing for; none of what no target changes
	pages    []string // of the rules that wait
}

func gaps(unknown []verdict.Missing) []gap {
	var list []gap
	for _, u := range unknown {
		i := slices.IndexFunc(
			list,
			func(g gap) bool { return g.Rule == u.Rule && g.Missing.Missing == u.Missing && g.Need == u.Need },
		)
		if i < 0 {
			i = len(list)
			list = append(list, gap{Missing: u, pages: []string{u.Rule}})
		}
		list[i].subjects = layout.AppendUnique(list[i].subjects, u.Subject)
		if u.Rule != "not-looked-at" {
			list[i].targets = layout.AppendUnique(list[i].targets, u.Target)
		}
	}
	return joinGaps(list)
}

// joinGaps joins questions with the same consequences: "which CUDA it was built with and which machine code it
// contains".
func joinGaps(list []gap) []gap {
	var out []gap
	for _, g := range list {
		i := slices.IndexFunc(out, func(o gap) bool {
			return g.Question && o.Question && o.Why == g.Why && o.Need == g.Need &&
				slices.Equal(o.subjects, g.subjects) && slices.Equal(o.targets, g.targets) && g.Rule != "not-looked-at" && o.Rule != "not-looked-at"
		})
		if i < 0 {
			out = append(out, g)
			continue
		}
		out[i].pages = layout.AppendUnique(out[i].pages, g.Rule)
		out[i].Fact += " and " + g.Fact
	}
	return out
}

// writeUnknowns lists what could not be judged: the missing fact and, if it decides the outcome or with --all, how to
// supply it. Otherwise each takes one sentence.
func writeUnknowns(p *layout.Page, r report.Report) {
	brief := r.Outcome != verdict.Inconclusive && !p.Style.All
	all := gaps(r.Unknown)
	for i, g := range takeShown(all) {
		if more := len(all) - i; brief && i == briefGaps && more > 1 {
			p.WriteLine()
			p.WriteLine("? not judged: ", layout.CountNoun(more, "other thing"), " (--all)")
			return
		}
		p.WriteLine()
		title, text := "? not judged", report.DescribeMissing(g.Missing)
		if g.Rule == "not-looked-at" && !g.Question {
			title, text = "? not looked at", g.Missing.Missing
		}
		if brief {
			p.WriteWrapped(4, layout.ListFirst(g.subjects, 3)+layout.NameTargets(g.targets)+": "+text, layout.Paint(layout.Yellow, title), ": ")
			continue
		}
		p.WriteWrapped(4, layout.ListFirst(g.subjects, 3)+layout.NameTargets(g.targets), layout.Paint(layout.Yellow, title), ": ")
		if g.Need != "" {
			p.WriteField("needs", g.Need)
		}
		p.WriteWrapped(4, text, "    ")
		switch g.Reason {
		case "nvml":
			p.WriteField("fix", "run `sudo dmesg | grep -iE 'nvrm|xid'`, which may say why it fails; then load the driver again, or reboot")
		case "excluded":
			p.WriteField("fix", "if programs are to use it, remove NVreg_ExcludedGpus from /etc/modprobe.d and from the kernel's command line, rebuild the initramfs (`sudo update-initramfs -u -k all`, or `sudo dracut --force`), then reboot")
		case "held":
			p.WriteField("fix", "run it in the virtual machine that has the GPU; or give the GPU back to this host: remove its ids from the options of vfio-pci in /etc/modprobe.d and on the kernel's command line, rebuild the initramfs, then reboot")
		case "withheld":
			p.WriteField("fix", "if it is to have a GPU, start it with one: `docker run --gpus all`, `podman run --device nvidia.com/gpu=all`, or in Kubernetes a limit of nvidia.com/gpu")
		case "withheld-job":
			p.WriteField("fix", "if it is to have a GPU, ask the scheduler for one (Slurm: `srun --gpus=1`)")
		case "hidden":
			p.WriteField("fix", "if it is to use a GPU, `unset CUDA_VISIBLE_DEVICES`")
		case "unpinned":
			p.WriteField("fix", howNamed(r))
		case "bare":
			p.WriteField("fix", "ask for the libraries, too: `tensorflow[and-cuda]` from 2.14 on, `onnxruntime-gpu[cuda,cudnn]` from 1.21 on; or run `cudacompat doctor` where it is installed")
		case "compat":
			p.WriteField("fix", "start the image once with `nvidia-smi`: if the library is loaded, it shows the CUDA of the image; if not, put /usr/local/cuda/compat first on LD_LIBRARY_PATH in the image, after installing the package cuda-compat if the directory is missing")
		case "jetson":
			p.WriteField("fix", pin.ForJetson)
		case "tables":
			if !r.Facts.System.Windows() { // which the program does not examine
				p.WriteField("fix", "run `cudacompat doctor` where it is installed: it reads the files themselves")
			}
		}
		for _, page := range g.pages {
			p.WriteCommand("more", "cudacompat explain "+page)
		}
	}
	writeRest(p, len(all), "that are not known")
}

// briefGaps is how many unknowns a page names that is about something else.
const briefGaps = 5

// howNamed says how to name a release: in the file, or on the command line.
func howNamed(r report.Report) string {
	for _, e := range r.Facts.Environments {
		for _, b := range e.Builds {
			if b.From == "command line" {
				return "name a release, such as " + b.Name + "==VERSION; `cudacompat pins` says which one fits the machine"
			}
		}
	}
	return "pin a version, or run `cudacompat check` on a lock file or on the output of `pip freeze`"
}

// writeFailures lists what could not be read, and why, unless the page has said it.
func writeFailures(p *layout.Page, r report.Report) {
	told := func(why string) bool {
		return r.Outcome == verdict.Inconclusive && slices.ContainsFunc(r.Unknown,
			func(u verdict.Missing) bool { return u.Missing == why }) ||
			slices.ContainsFunc(r.Findings, func(f verdict.Finding) bool {
				return slices.ContainsFunc(f.Evidence, func(e verdict.Evidence) bool { return e.Value == why })
			})
	}
	var order []string
	reasons := map[string][]string{}
	for _, s := range r.Facts.Probes {
		if s.Status == "failed" && !told(s.Error) {
			reasons[s.Error] = append(reasons[s.Error], s.Name)
			order = layout.AppendUnique(order, s.Error)
		}
	}
	for _, why := range order {
		p.WriteLine()
		p.WriteWrapped(4, why, layout.Paint(layout.Yellow, "! not read"), ": ", strings.Join(reasons[why], ", "), ": ")
	}
}

// writeLooked says where the program looked for the parts that are missing for a comparison.
func writeLooked(p *layout.Page, r report.Report) {
	there := report.FindParts(r)
	switch {
	case r.Outcome != verdict.Inconclusive || report.FindOpenFact(r) != nil, report.ArePasted(r.Facts.Probes):
	case len(r.Facts.Probes) > 0:
		p.WriteLine()
		p.WriteLine("  looked for")
		for _, place := range places(r, there) {
			p.WriteWrapped(12, place[1], fmt.Sprintf("    %-6s  ", place[0]))
		}
	case there == report.Parts{} && r.Log == nil:
		p.WriteLine()
		p.WriteWrapped(2, "What was read should be the JSON of `cudacompat probe` or `cudacompat doctor -o json`, or what `python3 -m torch.utils.collect_env` prints.", "  ")
	}
}

// places returns the missing things and where the program looked for them. A tree at rest has no NVML to ask.
func places(r report.Report, there report.Parts) [][2]string {
	nvml, why := "NVML, ", ""
	switch state := r.Facts.Driver.NVML; {
	case state.Status == "left out":
		nvml = ""
	case state.Message != "":
		why = "NVML (" + state.Message + "), "
	}
	var list [][2]string
	if !there.Driver {
		list = append(list, [2]string{"driver", cmp.Or(why, nvml) +
			"/proc/driver/nvidia/version, libcuda.so.1, the kernel modules on disk"})
	}
	if !there.GPU {
		list = append(list, [2]string{"GPU", nvml + "/sys/bus/pci"})
	}
	if !there.Build {
		list = append(list, [2]string{"Python", "PyTorch, TensorFlow and JAX in " + environments(r)})
	}
	return list
}

func environments(r report.Report) string {
	if len(r.Facts.Environments) == 0 {
		return "Python environments under /opt, /usr/local, /srv, /app, /workspace, /root and /home, but there is none"
	}
	var paths []string
	for _, e := range r.Facts.Environments {
		paths = append(paths, e.Path)
	}
	return layout.ListFirst(paths, 3)
}

// writeHint says what to do if driver or GPU are missing: the flags that name them or, if there is nothing at all, what
// else could be judged.
func writeHint(p *layout.Page, r report.Report) {
	there := report.FindParts(r)
	add := "--driver " + report.ExampleDriver
	switch {
	case r.Outcome != verdict.Inconclusive || there.Driver && there.GPU:
		return
	case report.FindOpenFact(r) != nil && report.FindOpenFact(r).Reason == "not-cuda": // no NVIDIA driver or GPU would help
		return
	case r.Facts.System.Windows() && there.GPU:
		add = "--driver " + report.ExampleWindowsDriver
	case r.Facts.System.Windows() && there.Driver:
		add = "--gpu, such as --gpu \"RTX 4070\""
	case r.Facts.System.Windows() && there.Build:
		add = "--gpu and --driver, such as --gpu \"RTX 4070\" --driver " + report.ExampleWindowsDriver
	case r.Facts.System.Jetson: // no instance of a cloud has its GPU
		add = "--gpu, such as --gpu Orin"
	case len(r.Facts.GPUs) > 0 && there.Driver: // they are here, and programs do not get them
		return
	case there == report.Parts{} && report.FindOpenFact(r) == nil && r.Log == nil:
		writeOtherCommands(p, len(r.Facts.Probes) > 0)
		return
	case !there.GPU && !there.Driver:
		add = "--instance and --driver, such as --instance g5.xlarge --driver " + report.ExampleDriver
		if len(r.Facts.Probes) > 0 && !r.Facts.System.Rest {
			add += "; or run it where the GPU is (under Slurm: srun --gpus=1 cudacompat doctor)"
		}
	case !there.GPU:
		add = "--gpu L4, or --instance g5.xlarge"
	}
	p.WriteLine()
	p.WriteWrapped(7, add, "  add  ")
}

// writeOtherCommands names commands that would have something to judge, ready to copy.
func writeOtherCommands(p *layout.Page, probed bool) {
	list := [][2]string{{"to see an example", "check example:broken"}}
	if probed {
		list = append([][2]string{{"to judge another machine", "doctor --instance g5.xlarge --driver " + report.ExampleDriver},
			{"to look in another Python environment", "doctor --env PATH"}}, list...)
	}
	p.WriteLine()
	for _, try := range list {
		p.WriteLine("  " + try[0] + ":")
		for _, line := range layout.FoldCommand("cudacompat "+try[1], 4, p.Style.Width) {
			p.WriteLine(layout.Paint(layout.Bold, line))
		}
	}
}
