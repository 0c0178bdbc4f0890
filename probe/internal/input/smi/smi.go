// Package smi reads the output of nvidia-smi.
package smi

import (
	"bytes"
	"encoding/xml"
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
	TableGPU = lazyregexp.New(`^\|\s+\d+\s{1,3}(\S.*?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM)\s*\|\s*` +
		`([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)`)
	smiModel  = lazyregexp.New(`(?m)^\|.*(?:TCC/WDDM|Driver-Model)`)
	smiListed = lazyregexp.New(`^GPU (\d+): (\S.*?) \(UUID: (?:GPU-|MIG-)?[^)]*\)\s*$`)
	smiField  = lazyregexp.New(`^(\s*)(\S[^:]*?)\s*:\s*(.*?)\s*$`)
	smiBus    = lazyregexp.New(`^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$`)
)

// smi is nvidia-smi's output on its way into Facts.
type smi struct{ facts.Facts }

// driver takes the versions of the banner, "N/A" and "Not Found" left out.
func (s *smi) driver(version, cuda string) {
	if document.LeadVersion.MatchString(version) {
		s.Driver.Version, s.Driver.From = document.LeadVersion.FindString(version), fromSMI
	}
	if document.LeadVersion.MatchString(cuda) {
		s.Driver.CUDA, s.Driver.CUDAFrom = document.LeadVersion.FindString(cuda), fromSMI
	}
}

func (s *smi) gpu(name, bus string) *facts.GPU {
	s.GPUs = append(s.GPUs, facts.GPU{Name: name, Bus: shortBus(bus), From: []string{fromSMI}})
	return &s.GPUs[len(s.GPUs)-1]
}

// shortBus is "0000:00:1e.0" of nvidia-smi's "00000000:00:1E.0".
func shortBus(bus string) string {
	if domain, rest, ok := strings.Cut(strings.ToLower(bus), ":"); ok && len(domain) > 4 {
		return domain[len(domain)-4:] + ":" + rest
	}
	return strings.ToLower(bus)
}

// pciID is "10de:27b8" of nvidia-smi's "0x27B810DE".
func pciID(device string) string {
	hex := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(device)), "0x")
	if len(hex) != 8 {
		return ""
	}
	return hex[4:] + ":" + hex[:4]
}

// windows is Facts.System.OS where nvidia-smi speaks of a driver model, which Windows alone has.
const windows = "Windows"

// system tells Windows by its driver models, and WSL2 by an nvidia-smi of another version than Windows' own driver,
// which has two parts.
func (s *smi) system(models bool, tool string) {
	switch {
	case models:
		s.System.OS = windows
	case tool != "" && tool != s.Driver.Version && strings.Count(s.Driver.Version, ".") == 1:
		s.System.WSL = true
	}
}

func IsTable(d document.Document) bool { return Banner.Match(d.Data) }

// Table reads the table. A name that it cuts short, "NVIDIA A100-SXM...", tells as much as there is:
//
//	| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |
//	|   0  NVIDIA L4                      Off | 00000000:00:1E.0 Off |                    0 |
func Table(d document.Document) facts.Facts {
	s := &smi{}
	tool := ""
	for line := range strings.Lines(string(d.Data)) {
		line = strings.TrimLeft(line, " >\t")
		if m := Banner.FindStringSubmatch(line); m != nil && s.Driver.Version == "" {
			s.driver(m[2], m[3])
			tool = m[1]
		}
		if m := TableGPU.FindStringSubmatch(line); m != nil {
			s.gpu(strings.TrimSpace(strings.TrimSuffix(m[1], "...")), m[2])
		}
	}
	s.system(smiModel.Match(d.Data), tool)
	s.failures(d.Data)
	return s.done()
}

func IsList(d document.Document) bool {
	first, _, _ := bytes.Cut(d.Data, []byte("\n"))
	return smiListed.Match(first)
}

// ReadList reads what -L lists; it says nothing of the driver. The UUIDs are a machine's own and not kept:
//
//	GPU 0: NVIDIA L4 (UUID: GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e)
func ReadList(d document.Document) (facts.Facts, error) {
	s := &smi{}
	for line := range strings.Lines(string(d.Data)) {
		if m := smiListed.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			s.gpu(m[2], "")
		}
	}
	s.failures(d.Data)
	return s.done(), nil
}

var smiLog = []byte("==============NVSMI LOG==============")

func IsQuery(d document.Document) bool { return bytes.Contains(d.Data, smiLog) }

// ReadQuery reads the long form:
//
//	Driver Version                            : 535.183.01
//	GPU 00000000:00:1E.0
//	    Product Name                          : NVIDIA L4
//	    PCI
//	        Device Id                         : 0x27B810DE
func ReadQuery(d document.Document) (facts.Facts, error) {
	s := &smi{}
	g := &facts.GPU{} // what stands before the first GPU is nobody's
	models, heading := false, ""
	for line := range strings.Lines(string(d.Data)) {
		if m := smiBus.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			g = s.gpu("", m[1])
			continue
		}
		m := smiField.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			heading = strings.TrimSpace(line)
			continue
		}
		switch key, value := m[2], m[3]; {
		case key == "Driver Version":
			s.driver(value, "")
		case key == "CUDA Version":
			s.driver("", value)
		case key == "Product Name":
			g.Name = value
		case key == "Device Id" && g.PCIID == "":
			g.PCIID = pciID(value)
		case key == "Current" && heading == "Driver Model":
			models = models || value != "N/A"
		}
	}
	s.system(models, "")
	return s.done(), nil
}

func IsXML(d document.Document) bool {
	return d.Starts("<?xml", "<nvidia_smi_log") &&
		bytes.Contains(d.Data[:min(len(d.Data), 1024)], []byte("nvidia_smi_log"))
}

// ReadXML reads the long form in XML; a GPU's elements beside these are passed over:
//
//	<driver_version>535.183.01</driver_version>
//
// <gpu id="00000000:00:1E.0"><product_name>NVIDIA
// L4</product_name><pci><pci_device_id>27B810DE</pci_device_id></pci></gpu>
func ReadXML(d document.Document) (facts.Facts, error) {
	var parsed struct {
		Driver string `xml:"driver_version"`
		CUDA   string `xml:"cuda_version"`
		GPUs   []struct {
			Bus   string `xml:"id,attr"`
			Name  string `xml:"product_name"`
			Model string `xml:"driver_model>current_dm"`
			PCI   string `xml:"pci>pci_device_id"`
		} `xml:"gpu"`
	}
	if err := xml.Unmarshal(d.Data, &parsed); err != nil {
		return facts.Facts{}, err
	}
	s := &smi{}
	s.driver(parsed.Driver, parsed.CUDA)
	models := false
	for _, gpu := range parsed.GPUs {
		s.gpu(gpu.Name, gpu.Bus).PCIID = pciID(gpu.PCI)
		models = models || gpu.Model != "" && gpu.Model != "N/A"
	}
	s.system(models, "")
	return s.done(), nil
}

// done closes the output. One without a driver's version was cut off, or is of -L.
func (s *smi) done() facts.Facts {
	s.Probes = []facts.Status{{Name: fromSMI, Status: "ok"}}
	return s.Facts
}
