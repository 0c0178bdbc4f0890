// Package smi reads the output of nvidia-smi.
package smi

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

// fromSMI is where the facts of nvidia-smi's output come from.
const fromSMI = "nvidia-smi"

var (
	Banner = lazyregexp.New(`NVIDIA-SMI\s+(\S+)\s+(?:Driver|KMD) Version:\s*(\S+)(?:\s+CUDA (?:UMD )?Version:\s*` +
		`(\S+))?`)
	TableGPU = lazyregexp.New(`^\|\s+(\d+)\s{1,3}(\S.*?)\s+(On|Off|N/A|WDDM|TCC|MCDM|ERR!)\s*\|\s*` +
		`([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d|N/A)`)
	smiModel  = lazyregexp.New(`(?m)^[ >\t]*\|.*(?:TCC/WDDM|Driver-Model)`)
	smiListed = lazyregexp.New(`^GPU (\d+): (\S.*?) \(UUID: (?:GPU-|MIG-)?[^)]*\)\s*$`)
	smiPart   = lazyregexp.New(`^\s+MIG \S.*\bDevice +\d+: \(UUID: `)
	smiField  = lazyregexp.New(`^(\s*)(\S[^:]*?)\s*:\s*(.*?)\s*$`)
	smiBus    = lazyregexp.New(`^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$`)
	// smiMIG matches a row of the table of MIG devices: the GPU, its instance, the compute instance, the device.
	smiMIG     = lazyregexp.New(`^\|\s+(\d+)\s+(?:\d+|N/A)\s+(?:\d+|N/A)\s+\d+\s+\|`)
	smiNoMIG   = lazyregexp.New(`No MIG devices found`)
	smiVersion = lazyregexp.New(`(?im)^[ >\t]*NVIDIA-SMI version\s*: *(\S+)`)
	versionKey = lazyregexp.New(`(?i)^(?:(?:driver|KMD) version|CUDA (?:UMD )?version)$`)
)

// smi is nvidia-smi's output on its way into Facts.
type smi struct {
	facts.Facts
	strange []string // fields that are neither read nor known to need no reading
}

// driver takes the versions of the banner, "N/A" and "Not Found" left out.
func (s *smi) driver(version, cuda string) {
	if document.LeadVersion.MatchString(version) {
		s.Driver.Version, s.Driver.From = document.LeadVersion.FindString(version), fromSMI
	}
	if document.LeadVersion.MatchString(cuda) {
		s.Driver.CUDA, s.Driver.CUDAFrom = document.LeadVersion.FindString(cuda), fromSMI
	}
}

// onTegra ends the name of a Jetson's GPU, which is on no PCI bus.
const onTegra = "(nvgpu)"

// gpu adds a GPU, which the driver lets be asked.
func (s *smi) gpu(name, bus string) *facts.GPU {
	s.System.Jetson = s.System.Jetson || strings.HasSuffix(name, onTegra)
	s.GPUs = append(s.GPUs, facts.GPU{Name: name, Bus: shortBus(bus), From: []string{fromSMI}})
	return &s.GPUs[len(s.GPUs)-1]
}

// shortBus returns "0000:00:1e.0" of nvidia-smi's "00000000:00:1E.0".
func shortBus(bus string) string {
	if bus == "N/A" {
		return ""
	}
	if domain, rest, ok := strings.Cut(strings.ToLower(bus), ":"); ok && len(domain) > 4 {
		return domain[len(domain)-4:] + ":" + rest
	}
	return strings.ToLower(bus)
}

// pciID returns "10de:27b8" of nvidia-smi's "0x27B810DE".
func pciID(device string) string {
	hex := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(device)), "0x")
	if len(hex) != 8 {
		return ""
	}
	return hex[4:] + ":" + hex[:4]
}

// windows is Facts.System.OS where nvidia-smi speaks of a driver model, which Windows alone has.
const windows = "Windows"

// firstWSL is the first branch of which a Linux release has three numbers wherever Windows' has two.
const firstWSL = 460

// system tells Windows by its driver models. A driver of two numbers without one is Windows' own, which WSL2 runs on:
// 560.94, where Linux has 560.35.03.
func (s *smi) system(models bool) {
	branch, _, _ := strings.Cut(s.Driver.Version, ".")
	number, _ := strconv.Atoi(branch)
	switch {
	case models:
		s.System.OS = windows
	case number >= firstWSL && strings.Count(s.Driver.Version, ".") == 1:
		s.System.WSL = true
	}
}

func IsTable(d document.Document) bool { return Banner.Match(d.Data) }

// Table reads the table. A name that it cuts short, "NVIDIA A100-SXM...", tells as much as there is:
//
//	| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |
//	|   0  NVIDIA L4                      Off | 00000000:00:1E.0 Off |                    0 |
//	| N/A   43C    P8              12W /  72W |      0MiB / 23034MiB |      0%      Default |
//	|                                         |                      |                  N/A |
func Table(d document.Document) facts.Facts {
	s := &smi{}
	row, parts, at := 0, map[string]int{}, map[string]int{} // lines below a GPU's own; MIG devices and places by its index
	model, noParts := smiModel.Match(d.Data), smiNoMIG.Match(d.Data)
	for line := range strings.Lines(string(d.Data)) {
		line = strings.TrimLeft(line, " >\t")
		if m := Banner.FindStringSubmatch(line); m != nil && s.Driver.Version == "" {
			s.driver(m[2], m[3])
		}
		if m := TableGPU.FindStringSubmatch(line); m != nil {
			g := s.gpu(strings.TrimSpace(strings.TrimSuffix(m[2], "...")), m[4])
			at[m[1]], row = len(s.GPUs)-1, 1
			if !model {
				s.take(g, byQuery["Persistence Mode"], m[3])
			}
			s.cells(g, row, line)
			continue
		}
		if m := smiMIG.FindStringSubmatch(line); m != nil && row != 1 && row != 2 {
			parts[m[1]]++
		}
		if row > 0 && row < 3 && strings.HasPrefix(line, "|") {
			row++
			s.cells(&s.GPUs[len(s.GPUs)-1], row, line)
		} else if !strings.HasPrefix(line, "|") {
			row = 0
		}
	}
	for index, i := range at {
		if s.GPUs[i].MIG == "on" && (parts[index] > 0 || noParts || len(parts) > 0) {
			s.GPUs[i].Instances = parts[index]
		}
	}
	s.system(model)
	s.versions(d.Data)
	s.failures(d.Data)
	return s.done()
}

// tableColumns are what the last column says in each of a GPU's lines.
var tableColumns = [][]string{1: {"ECC Errors/Volatile/DRAM Uncorrectable"}, 2: {"Compute Mode"}, 3: {"MIG Mode/Current"}}

var (
	usedOf       = lazyregexp.New(`^(\d+) ?MiB */ *(\d+) ?MiB$`)
	utilisation  = lazyregexp.New(`^(?:\d+ ?%|N/A|ERR!)\s+`)
	tableUnknown = lazyregexp.New(`ERR!|Unknown Error|GPU is lost|GPU requires reset`)
)

// cells takes one line of a GPU: its last column, the memory that is used, and what could not be read.
func (s *smi) cells(g *facts.GPU, row int, line string) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	if len(cells) != 3 {
		return
	}
	last := strings.TrimSpace(cells[2])
	if row == 2 {
		last = utilisation.ReplaceAllString(last, "")
		if m := usedOf.FindStringSubmatch(strings.TrimSpace(cells[1])); m != nil {
			s.take(g, byQuery["FB Memory Usage/Used"], m[1]+" MiB")
			s.take(g, byQuery["FB Memory Usage/Total"], m[2]+" MiB")
		}
	}
	if row == 1 && strings.EqualFold(last, "Off") { // ECC is off
		last = ""
	}
	for _, name := range tableColumns[row] {
		s.take(g, byQuery[name], last)
	}
	if word := tableUnknown.FindString(cells[0] + cells[1]); word != "" {
		s.take(g, field{query: "fan, temperature, power or memory", set: func(*facts.GPU, string) bool { return false }}, word)
	}
}

// versions takes what --version prints, alone or beside other output:
//
//	NVIDIA-SMI version  : 550.54.15
//	NVML version        : 550.54
//	DRIVER version      : 550.54.15
//	CUDA Version        : 12.4
func (s *smi) versions(data []byte) {
	if !smiVersion.Match(data) {
		return
	}
	for line := range strings.Lines(string(data)) {
		m := smiField.FindStringSubmatch(strings.TrimLeft(strings.TrimRight(line, "\n"), " >\t"))
		switch {
		case m == nil || !versionKey.MatchString(m[2]):
		case strings.HasPrefix(strings.ToLower(m[2]), "cuda"):
			s.driver("", m[3])
		case s.Driver.Version == "":
			s.driver(m[3], "")
		}
	}
}

// IsVersions recognises what --version prints.
func IsVersions(d document.Document) bool { return smiVersion.Match(d.Data) }

func IsList(d document.Document) bool {
	first, _, _ := bytes.Cut(d.Data, []byte("\n"))
	return smiListed.Match(first)
}

// ReadList reads what -L lists; it says nothing of the driver. The UUIDs are a machine's own and not kept:
//
//	GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e)
//	  MIG 1g.5gb     Device  0: (UUID: MIG-5428af19-1e82-a38c-ee42-cdd3ad745b7e)
func ReadList(d document.Document) (facts.Facts, error) {
	s := &smi{}
	for line := range strings.Lines(string(d.Data)) {
		line = strings.TrimRight(line, "\n")
		if m := smiListed.FindStringSubmatch(line); m != nil {
			s.gpu(m[2], "")
		} else if smiPart.MatchString(line) && len(s.GPUs) > 0 {
			g := &s.GPUs[len(s.GPUs)-1]
			if g.MIG == "" {
				g.MIG = "on"
			}
			g.Instances++
		}
	}
	s.failures(d.Data)
	return s.done(), nil
}

var smiLog = []byte("==============NVSMI LOG==============")

func IsQuery(d document.Document) bool { return bytes.Contains(d.Data, smiLog) }

// ReadQuery reads the long form, whose headings are told by their indent:
//
//	Driver Version                            : 535.183.01
//	GPU 00000000:00:1E.0
//	    Product Name                          : NVIDIA L4
//	    MIG Mode
//	        Current                           : N/A
//	    PCI
//	        Device Id                         : 0x27B810DE
func ReadQuery(d document.Document) (facts.Facts, error) {
	q := &query{at: -1}
	for line := range strings.Lines(string(d.Data)) {
		q.line(strings.TrimRight(line, " \t\r\n"))
	}
	q.endGPU()
	q.system(q.models)
	return q.done(), nil
}

// query is the long form on its way into Facts.
type query struct {
	smi
	at      int // the GPU whose lines come; -1 before the first
	path    []string
	indents []int // of path
	parts   int   // MIG devices of the GPU
	listed  bool  // whether its MIG devices were listed, or said to be none
	models  bool
}

func (q *query) endGPU() {
	if q.at >= 0 && q.GPUs[q.at].MIG == "on" && (q.listed || q.parts > 0) {
		q.GPUs[q.at].Instances = q.parts
	}
	q.parts, q.listed, q.path, q.indents = 0, false, nil, nil
}

// line takes one line: a GPU's address, a heading, or a field.
func (q *query) line(line string) {
	if m := smiBus.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
		q.endGPU()
		q.gpu("", m[1])
		q.at = len(q.GPUs) - 1
		return
	}
	text := strings.TrimSpace(line)
	if text == "" {
		return
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if indent == 0 && q.at >= 0 { // the GPUs are over
		q.endGPU()
		q.at = -1
	}
	for len(q.indents) > 0 && q.indents[len(q.indents)-1] >= indent {
		q.path, q.indents = q.path[:len(q.path)-1], q.indents[:len(q.indents)-1]
	}
	key, value := text, ""
	m := smiField.FindStringSubmatch(text)
	if m != nil {
		key, value = m[2], m[3]
	}
	q.path, q.indents = append(q.path, key), append(q.indents, indent)
	switch {
	case q.at < 0:
		q.top(key, value)
	case len(q.path) == 1 && key == "MIG Device":
		q.parts++
	case len(q.path) == 1 && key == "MIG Devices":
		q.listed = true
	case q.path[0] == "Driver Model" && key == "Current":
		q.models = q.models || value != "N/A"
	}
	if q.at >= 0 && m != nil {
		q.value(value)
	}
}

// top takes what stands before the first GPU.
func (q *query) top(key, value string) {
	switch key {
	case "Driver Version", "KMD Version":
		q.driver(value, "")
	case "CUDA Version", "CUDA UMD Version":
		q.driver("", value)
	}
}

// value takes a field of the GPU by its place.
func (q *query) value(value string) {
	switch f, mapped, known := fieldOf(q.path); {
	case mapped:
		q.take(&q.GPUs[q.at], f, value)
	case !known:
		q.noteStrange(strings.Join(q.path, "/"))
	}
}

func IsXML(d document.Document) bool {
	return d.Starts("<?xml", "<nvidia_smi_log") &&
		bytes.Contains(d.Data[:min(len(d.Data), 1024)], []byte("nvidia_smi_log"))
}

// ReadXML reads the long form in XML:
//
//	<driver_version>535.183.01</driver_version>
//	<gpu id="00000000:00:1E.0"><product_name>NVIDIA L4</product_name><pci><pci_device_id>27B810DE</pci_device_id></pci></gpu>
func ReadXML(d document.Document) (facts.Facts, error) {
	x := &xmlReader{query: query{at: -1}}
	decoder := xml.NewDecoder(bytes.NewReader(d.Data))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return facts.Facts{}, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			x.start(token)
		case xml.CharData:
			x.text = string(token)
		case xml.EndElement:
			x.end()
		}
	}
	x.system(x.models)
	return x.done(), nil
}

// xmlReader is the long form in XML on its way into Facts.
type xmlReader struct {
	query
	elements []string // those that are open
	text     string   // of the innermost
	leaf     bool     // whether the innermost had no element in it
}

func (x *xmlReader) start(element xml.StartElement) {
	name := element.Name.Local
	if name == "gpu" && len(x.elements) == 1 {
		bus := ""
		for _, a := range element.Attr {
			if a.Name.Local == "id" {
				bus = a.Value
			}
		}
		x.gpu("", bus)
		x.at = len(x.GPUs) - 1
	}
	if name == "mig_device" && x.at >= 0 {
		x.parts++
	}
	x.elements, x.text, x.leaf = append(x.elements, name), "", true
}

// end takes the value of an element that has no others in it.
func (x *xmlReader) end() {
	value, leaf, path := strings.TrimSpace(x.text), x.leaf, x.elements
	x.elements, x.text, x.leaf = path[:len(path)-1], "", false
	switch {
	case len(path) == 2 && path[1] == "gpu":
		x.endGPU()
		x.at = -1
		return
	case len(path) == 3 && path[2] == "mig_devices":
		x.listed = true
	}
	if !leaf {
		return
	}
	if len(path) == 2 {
		switch path[1] {
		case "driver_version", "kmd_version":
			x.driver(value, "")
		case "cuda_version", "cuda_umd_version":
			x.driver("", value)
		}
	}
	if x.at < 0 || len(path) < 3 || value == "" {
		return
	}
	inner := path[2:]
	if strings.Join(inner, ">") == "driver_model>current_dm" {
		x.models = x.models || value != "N/A"
	}
	switch f, mapped, known := elementOf(inner); {
	case mapped:
		x.take(&x.GPUs[x.at], f, value)
	case !known:
		x.noteStrange(strings.Join(inner, ">"))
	}
}

// maxStrange bounds the unknown fields that are named.
const maxStrange = 20

func (s *smi) noteStrange(name string) {
	if len(s.strange) < maxStrange && !slices.Contains(s.strange, name) {
		s.strange = append(s.strange, name)
	}
}

// done closes the output. One without a driver's version was cut off, or is of -L. What lists GPUs was answered by the
// driver through NVML.
func (s *smi) done() facts.Facts {
	status := facts.Status{Name: fromSMI, Status: "ok"}
	if len(s.strange) > 0 {
		status.Error = facts.NotRead + strings.Join(s.strange, ", ")
	}
	s.Probes = []facts.Status{status}
	for i := range s.GPUs {
		if s.GPUs[i].Memory != nil {
			s.GPUs[i].Memory.Here = -1 // whose it is, the output does not tell
		}
	}
	if len(s.GPUs) > 0 && s.Driver.NVML.Status == "" {
		s.Driver.NVML.Status = "ok"
	}
	return s.Facts
}
