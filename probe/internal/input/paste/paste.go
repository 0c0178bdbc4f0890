// Package paste reads what people paste into bug reports: reports, tables, lists and errors, in any order.
package paste

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/input/collectenv"
	"cudacompat/probe/internal/input/conda"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/piplist"
	"cudacompat/probe/internal/input/plan"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/smi"
)

// What people paste into a bug report stands there in blocks: a collect_env report, nvidia-smi's table, a list of
// packages, an error, in any order. All of it is of one machine, unless a second block of a kind denies the first.

// block is one of them, or the blocks of one kind of a machine: what they say that tells machines apart, by its key.
type block struct {
	kind string // blockReport, blockTable, blockList; empty: any other text
	says map[string]string
}

const (
	blockReport = "report"
	blockTable  = "table"
	blockList   = "list"
)

// denies reports whether two blocks of a kind cannot be of one machine.
func (b block) denies(o block) bool {
	for key, value := range b.says {
		if other, ok := o.says[key]; ok && other != value {
			return true
		}
	}
	return false
}

// Is recognises a report, and a list of packages that stands in other text.
func Is(d document.Document) bool {
	return isForm(string(d.Data)) || collectenv.Is(d) || frozenRows.Match(d.Data) && !plan.IsUV(d) || xformersInfo.Match(d.Data) || plan.IsPipInstalled(d) ||
		tellsPrinted(string(d.Data)) || tellsSaid(string(d.Data))
}

// maxMachines is how many machines a text may be of.
const maxMachines = 20

// Divide splits a text into one text for each machine that it describes. ok is false where it has too many machines, or
// too many blocks to tell.
func Divide(text string) (machines []string, ok bool) {
	parts := partsOf(text)
	var met map[string]block // of the machine at the end of the list
	for _, part := range parts {
		if before, again := met[part.kind]; met == nil || again && part.denies(before) {
			machines, met = append(machines, ""), map[string]block{}
		}
		machines[len(machines)-1] += part.text
		if part.kind == "" {
			continue
		}
		if met[part.kind].says == nil {
			met[part.kind] = block{part.kind, map[string]string{}}
		}
		maps.Copy(met[part.kind].says, part.says)
	}
	return machines, parts != nil && len(machines) <= maxMachines
}

// part is a block with its text, and what stands below it.
type part struct {
	block
	from    int // where its text begins
	text    string
	seen    map[string]bool // keys of a report, those too that tell no machines apart
	listing bool            // inside a report's list of GPUs
	gpus    int             // that it names
}

// maxParts bounds the blocks of a text: far more than anybody pastes.
const maxParts = 1000

// partsOf divides a text before each block; none where it has too many.
func partsOf(text string) []*part {
	list, at := []*part{{}}, 0
	for line := range strings.Lines(text) {
		p := list[len(list)-1]
		bare := collectenv.PastedEnd.ReplaceAllString(line, "")
		if kind, key := opens(bare); kind != "" && (kind != p.kind || kind != blockReport || key == "" || p.seen[key]) {
			if len(list) > maxParts {
				return nil
			}
			p.text = text[p.from:at]
			p = &part{block: block{kind: kind, says: map[string]string{}}, seen: map[string]bool{}, from: at}
			list = append(list, p)
		}
		p.line(bare)
		at += len(line)
	}
	last := list[len(list)-1]
	last.text = text[last.from:]
	return list
}

var (
	collecting = lazyregexp.New(`^[\s>]*Collecting environment information`)
	listHead   = lazyregexp.New(`^(?:Package +Version\b|# packages in environment at |# Name +Version +Build)`)
)

// opens returns the kind of the block that a line may open, of a report with the line's key.
func opens(line string) (kind, key string) {
	switch {
	case smi.Banner.MatchString(line):
		return blockTable, ""
	case listHead.MatchString(line):
		return blockList, ""
	case collecting.MatchString(line):
		return blockReport, ""
	}
	if m := collectenv.ReportLine.FindStringSubmatch(line); m != nil && !collectenv.InSentence(m[2]) {
		return blockReport, collectenv.LongKey(strings.ToLower(m[1]), m[3])
	}
	return "", ""
}

// line takes what a line says of the machine.
func (p *part) line(line string) {
	switch p.kind {
	case blockTable:
		if m := smi.Banner.FindStringSubmatch(line); m != nil {
			p.says["driver"] = m[2]
		} else if m := smi.TableGPU.FindStringSubmatch(line); m != nil {
			p.gpu(m[2])
		}
	case blockList:
		if fields := strings.Fields(line); len(fields) > 1 && toldByList.MatchString(fields[0]) {
			p.says[strings.ToLower(fields[0])] = fields[1]
		}
	case blockReport:
		p.reportLine(line)
	}
}

// gpu adds one to those that tell machines apart; the first thousand will do.
func (p *part) gpu(name string) {
	if p.gpus++; p.gpus <= document.MaxGPUs {
		p.says["GPUs"] += name + "\n"
	}
}

var toldByList = lazyregexp.New(`(?i)^(?:torch|pytorch|tensorflow|jaxlib)$`)

func (p *part) reportLine(line string) {
	m := collectenv.ReportLine.FindStringSubmatch(line)
	if m == nil || collectenv.LooseKey.MatchString(m[1]) && collectenv.InSentence(m[2]) { // a heading, a sentence
		if gpu := collectenv.ReportGPU.FindStringSubmatch(line); p.listing && gpu != nil {
			p.gpu(gpu[1])
		}
		return
	}
	key := collectenv.LongKey(strings.ToLower(m[1]), m[3])
	p.seen[key], p.listing = true, false
	number := cmp.Or(document.LeadVersion.FindString(m[3]), "none")
	switch key {
	case "pytorch version":
		p.says["torch"] = number
	case "cuda used to build pytorch":
		p.says["CUDA"] = document.TwoParts(number)
	case "nvidia driver version":
		p.says["driver"] = number
	case "is cuda available":
		if seen := collectenv.CudaSeen(m[3]); seen != nil {
			p.says["available"] = strconv.FormatBool(*seen)
		}
	case "gpu models and configuration":
		p.listing = true
		if gpu := collectenv.ReportGPU.FindStringSubmatch(m[3]); gpu != nil {
			p.gpu(gpu[1])
		}
	}
}

// Read reads the blocks of one machine.
func Read(d document.Document) (facts.Facts, error) {
	form := isForm(string(d.Data))
	d.Data = []byte(readForm(string(d.Data)))
	f := facts.Facts{}
	if _, ok := Divide(string(d.Data)); !ok {
		return f, fmt.Errorf("it describes more than %d machines", maxMachines)
	}
	if form || collectenv.Is(d) {
		f = collectenv.Parse(string(d.Data))
	}
	if smi.Banner.Match(d.Data) || smi.Fails(d) || smi.IsVersions(d) {
		addTableFacts(&f, smi.Table(d))
	}
	packages := packagesIn(d)
	if err := document.TooMany(len(packages), document.MaxRows, "packages"); err != nil {
		return f, err
	}
	if list := request.Facts("pip list", packages, nil); len(list.Environments) > 0 {
		addPackages(&f, list.Environments)
	}
	if named := namedPackages(d); len(named) > 0 {
		addPackages(&f, []facts.Environment{request.Environment("", named)})
	}
	addPrinted(&f, string(d.Data))
	addSaid(&f, string(d.Data))
	addImages(&f, string(d.Data))
	f.Observed.Ran = onGPU.Match(d.Data)
	if len(f.Environments) == 0 {
		f.Observed.Named = frameworkNamed(d)
		if f.Observed.CUDAAvailable != nil {
			f.Observed.Named = ""
			f.Unread = append(f.Unread, facts.Unread{Place: "PyTorch", Kind: facts.UnreadNeeded,
				Reason: "the text says what torch.cuda.is_available() returns, and not which release is installed"})
		}
	}
	if compatRefused.Match(d.Data) {
		f.Observed.Errors = []int{804}
	}
	return f, nil
}

// compatRefused matches CUDA's error 804 as it stands in logs: its text, or a call with its number.
var compatRefused = lazyregexp.New(`forward compatibility was attempted on non supported HW|cudaErrorCompatNotSupportedOnDevice\b|` +
	`CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE\b|(?:cuInit\(0\) returned|CUDA error \(?(?:code:? )?)\s?804\b`)

// frameworkWord matches the name of a framework in a sentence, an import, a command or a path of its sources.
var frameworkWord = lazyregexp.New(`(?i)(?:^|[\s"'(\x60])(?:py)?(torch|tensorflow|jax)(?:$|[\s"',;:.)\[=\x60-])|\b(tensorflow)/`)

var ownNames = map[string]string{"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}

// frameworkNamed returns the first framework that a text speaks of; the lines of nvidia-smi's table name what runs, and
// not what the text is about.
func frameworkNamed(d document.Document) string {
	for line := range strings.Lines(string(d.Data)) {
		if m := frameworkWord.FindStringSubmatch(line); m != nil && !strings.HasPrefix(strings.TrimSpace(line), "|") {
			return ownNames[strings.ToLower(m[1]+m[2])]
		}
	}
	return ""
}

// packagesIn returns the packages of the lists in a text: pip's, conda's, lines of pip freeze, and what pip has installed.
func packagesIn(d document.Document) []request.Package {
	list := piplist.Table(d)
	c := &conda.List{}
	rows := false
	for line := range strings.Lines(string(d.Data)) {
		fields := strings.Fields(line)
		switch {
		case conda.Head.MatchString(line):
			rows = true
		case rows && len(fields) == 0:
			rows = false
		case rows && len(fields) >= 3 && !strings.HasPrefix(fields[0], "#"):
			c.Take(piplist.Package{Name: fields[0], Version: fields[1], Build: fields[2], Channel: fields[len(fields)-1]})
		case xformersRelease.MatchString(line):
			list = append(list, request.New("xformers", xformersRelease.FindStringSubmatch(line)[1], "", nil))
		case frozen.MatchString(line):
			m := frozen.FindStringSubmatch(line)
			list = append(list, plan.FromPlace(request.New(m[1], m[2], "", nil), m[3]))
		case frozenAddress.MatchString(line):
			m := frozenAddress.FindStringSubmatch(line)
			p := request.Package{Name: distname.Normal(m[1]), From: "package " + distname.Normal(m[1])}
			p.Take(m[2], "")
			list = append(list, p)
		}
	}
	list = append(list, c.Resolved()...)
	for _, installed := range plan.PipInstalled(d) { // a list tells what is there now
		if !slices.ContainsFunc(list, func(p request.Package) bool { return p.Name == installed.Name }) {
			list = append(list, installed)
		}
	}
	return list
}

// xformersRelease matches what python -m xformers.info prints first, "xFormers 0.0.28.post3".
var (
	xformersRelease = lazyregexp.New(`^[\s>]*xFormers (\d+\.\d\S*)\s*$`)
	xformersInfo    = lazyregexp.New(`(?m)^[ >]*xFormers \d+\.\d\S*[ \t]*\n[ >]*[a-z_]+\.\w`)
)

// namedPackages returns the packages that a text names in a line of their own.
func namedPackages(d document.Document) (list []request.Package) {
	for line := range strings.Lines(string(d.Data)) {
		m := namedRelease.FindStringSubmatch(collectenv.PastedEnd.ReplaceAllString(strings.ReplaceAll(line, "\u00a0", " "), ""))
		if m == nil || !distname.Reported.Match(distname.Normal(m[1])) {
			continue
		}
		p := request.New(m[1], m[2], "", nil)
		p.From = collectenv.From
		list = append(list, p)
	}
	return list
}

// namedRelease matches a line of vLLM's or SGLang's report, or of what people type, that names a package and its release:
//
//	vLLM Version                 : 0.10.1
//	vLLM Version: 0.11.0rc2.dev3+g1a2b3c4d (git sha: 1a2b3c4d)
//	sgl_kernel: 0.3.9.post2
var namedRelease = lazyregexp.New(`(?i)^[\s>*-]*([A-Za-z][\w.-]*?)(?: Version)?\s*: *v?(\d+(?:\.\d+)+(?:[a-z0-9.+-]*[a-z0-9])?)(?: \(git sha: .*\))?\s*$`)

var (
	// frozen matches a line of pip freeze, and what uv prints of one that it installed; those of collect_env have another
	// mark before them:
	//
	//	torch==2.8.0
	//	 + torch==2.8.0
	//	 + mine==1.0 (from file:///src/mine)
	frozen = lazyregexp.New(`^[\s>]*(?:[+~] )?([A-Za-z0-9][A-Za-z0-9._-]*)==(\d\S*)(?: \(from (\S+)\))?\s*$`)
	// frozenAddress matches a line of pip freeze of what came from an address:
	//
	//	torch @ https://download.pytorch.org/whl/nightly/cu128/torch-2.7.0.dev20250220%2Bcu128-cp310-cp310-win_amd64.whl
	frozenAddress = lazyregexp.New(`^[\s>]*([A-Za-z0-9][A-Za-z0-9._-]*) @ ((?:https?|file)://\S+)\s*$`)
	// frozenRows matches two of the first, one under the other: a list, and no sentence.
	frozenRows = lazyregexp.New(`(?m)(?:^[ >]*(?:[+~] )?[A-Za-z0-9][A-Za-z0-9._-]*==\d\S*(?: \(from \S+\))?[ \t]*(?:\n|\z)){2,}`)
)

// addTableFacts adds the facts of nvidia-smi's table to those of a report. If the two name different drivers, neither
// version is kept.
func addTableFacts(f *facts.Facts, table facts.Facts) {
	f.Probes = append(f.Probes, table.Probes...)
	f.Unread = append(f.Unread, table.Unread...)
	f.System.WSL = f.System.WSL || table.System.WSL
	f.System.Jetson = f.System.Jetson || table.System.Jetson
	f.System.OS = cmp.Or(f.System.OS, table.System.OS)
	switch own, other := f.Driver.Version, table.Driver.Version; {
	case own != "" && other != "" && own != other:
		disagree(f, "the driver", own, f.Driver.From, other, table.Driver.From)
		f.Driver.Version, f.Driver.CUDA = "", ""
	case f.Driver.NVML.Status == "" && len(f.Driver.Libraries) == 0: // a report says no more than these
		own := f.Driver
		f.Driver = table.Driver
		f.Driver.Version, f.Driver.From = cmp.Or(own.Version, other), cmp.Or(own.From, f.Driver.From)
		f.Driver.CUDA, f.Driver.CUDAFrom = cmp.Or(f.Driver.CUDA, own.CUDA), cmp.Or(f.Driver.CUDAFrom, own.CUDAFrom)
	case own == "": // nvidia-smi -L names no driver
		f.Driver.Version, f.Driver.From = other, table.Driver.From
		f.Driver.CUDA, f.Driver.CUDAFrom = cmp.Or(f.Driver.CUDA, table.Driver.CUDA), cmp.Or(f.Driver.CUDAFrom, table.Driver.CUDAFrom)
	}
	switch {
	case len(f.GPUs) == 0:
		f.GPUs = table.GPUs
	case len(table.GPUs) > 0 && slices.ContainsFunc(table.GPUs, func(g facts.GPU) bool { return collectenv.HasGPUNamed(f.GPUs, g.Name) }):
		enrich(f.GPUs, table.GPUs)
	case len(table.GPUs) > 0 && !slices.ContainsFunc(table.GPUs, func(g facts.GPU) bool { return collectenv.HasGPUNamed(f.GPUs, g.Name) }):
		disagree(f, "the GPU", f.GPUs[0].Name, cmp.Or(f.GPUs[0].From...), table.GPUs[0].Name, cmp.Or(table.GPUs[0].From...))
		f.GPUs, f.Driver.NVML = nil, facts.NVML{}
	}
}

// enrich adds what nvidia-smi tells of GPUs to those that a report names, each of which it lists once.
func enrich(gpus, table []facts.GPU) {
	left := slices.Clone(table)
	for i := range gpus {
		at := slices.IndexFunc(left, func(g facts.GPU) bool { return collectenv.HasGPUNamed(gpus[i:i+1], g.Name) })
		if at < 0 {
			continue
		}
		name, capability := gpus[i].Name, gpus[i].Capability
		gpus[i] = left[at]
		gpus[i].Name, gpus[i].Capability = name, cmp.Or(capability, gpus[i].Capability)
		left = slices.Delete(left, at, at+1)
	}
}

// addPackages adds a list of packages to the environment that a report describes.
func addPackages(f *facts.Facts, lists []facts.Environment) {
	if len(f.Environments) != 1 || len(lists) != 1 {
		f.Environments = append(f.Environments, lists...)
		return
	}
	env, list := &f.Environments[0], lists[0]
	env.Python = cmp.Or(env.Python, list.Python)
	env.Kind, env.Active = cmp.Or(env.Kind, list.Kind), env.Active || list.Active
	for _, b := range list.Builds {
		at := slices.IndexFunc(env.Builds, func(o facts.Build) bool { return o.Name == b.Name })
		if at < 0 {
			env.Builds = append(env.Builds, b)
			continue
		}
		own := &env.Builds[at]
		if version, ok := oneVersion(own.Version, b.Version); ok {
			own.Version = version
			continue
		}
		disagree(f, b.Name, own.Version, own.From, cmp.Or(b.Version, b.Specifier), cmp.Or(b.From, list.Kind))
		env.Builds = slices.Delete(slices.Clone(env.Builds), at, at+1)
	}
	for _, p := range list.Packages {
		if !slices.ContainsFunc(env.Packages, func(o facts.Package) bool { return o.Name == p.Name }) {
			env.Packages = append(env.Packages, p)
		}
	}
	for _, w := range list.Requested {
		if !slices.ContainsFunc(env.Requested, func(o facts.Requested) bool { return o.Name == w.Name && o.Version == w.Version }) {
			env.Requested = append(env.Requested, w)
		}
	}
}

// oneVersion returns the fuller of two versions that mean one release: 2.9.0 and 2.9.0+cu126.
func oneVersion(a, b string) (string, bool) {
	first, _, local := strings.Cut(a, "+")
	second, _, other := strings.Cut(b, "+")
	switch {
	case a == "" || b == "":
		return cmp.Or(a, b), true
	case a != b && (first != second || local && other):
		return "", false
	case local:
		return a, true
	}
	return b, true
}

// Together returns the facts of one machine, of which several documents tell a part each. What two tell otherwise is
// named, and judged by neither.
func Together(list []facts.Facts) facts.Facts {
	f := list[0]
	for _, other := range list[1:] {
		environments := other.Environments
		addTableFacts(&f, other)
		f.System.Arch = cmp.Or(f.System.Arch, other.System.Arch)
		named, codes := cmp.Or(f.Observed.Named, other.Observed.Named), slices.Concat(f.Observed.Errors, other.Observed.Errors)
		if f.Observed.CUDAAvailable == nil {
			f.Observed = other.Observed
		}
		f.Observed.Named, f.Observed.Errors = named, codes
		addPackages(&f, environments)
	}
	f.Complete()
	return f
}

// disagree names what two blocks tell otherwise: which of them is true decides, so neither is judged.
func disagree(f *facts.Facts, what, one, from, other, otherFrom string) {
	f.Unread = append(f.Unread, facts.Unread{Place: what, Kind: facts.UnreadNeeded,
		Reason: fmt.Sprintf("%s says %s, and %s says %s: which of them is this machine's decides", from, one, otherFrom, other)})
}
