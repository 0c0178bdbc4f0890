package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"os/exec"
	"strings"

	"cudacompat/probe/facts"
)

// smi is what nvidia-smi -q -x says of what facts hold too.
type smi struct {
	Driver string   `xml:"driver_version"`
	CUDA   string   `xml:"cuda_version"`
	GPUs   []smiGPU `xml:"gpu"`
}

type smiGPU struct {
	Bus         string `xml:"id,attr"` // "00000000:1D:00.0"
	Name        string `xml:"product_name"`
	Device      string `xml:"pci>pci_device_id"` // "27B810DE"
	Mode        string `xml:"compute_mode"`
	MIG         string `xml:"mig_mode>current_mig"`
	Persistence string `xml:"persistence_mode"`
	Pending     string `xml:"remapped_rows>remapped_row_pending"`
	Failure     string `xml:"remapped_rows>remapped_row_failure"`
	Fabric      string `xml:"fabric>state"`
}

func (b *bench) besideSMI(ctx context.Context, s *section) {
	out, err := exec.CommandContext(ctx, "nvidia-smi", "-q", "-x").Output()
	if err != nil {
		s.say("nvidia-smi -q -x: %v: nothing to compare with", err)
		return
	}
	var said smi
	if err := xml.Unmarshal(out, &said); err != nil {
		s.differs("nvidia-smi -q -x is not read: %v", err)
		return
	}
	v, err := b.ask(ctx, nil, "--env", "none")
	if err != nil {
		s.differs("%v", err)
		return
	}
	compare(s, &v.Facts, &said)
}

// compare holds every fact beside what nvidia-smi says.
func compare(s *section, f *facts.Facts, said *smi) {
	same(s, "driver", f.Driver.Version, said.Driver)
	same(s, "CUDA of the driver", f.Driver.CUDA, said.CUDA)
	seen := map[string]*facts.GPU{}
	for i, g := range f.GPUs {
		seen[strings.ToLower(g.Bus)] = &f.GPUs[i]
	}
	for _, g := range said.GPUs {
		bus := shortBus(g.Bus)
		if fact := seen[bus]; fact != nil {
			compareGPU(s, fact, &g)
		} else {
			s.differs("nvidia-smi sees a GPU at %s, the facts do not", bus)
		}
	}
}

func compareGPU(s *section, fact *facts.GPU, g *smiGPU) {
	same(s, "name", fact.Name, g.Name)
	if len(g.Device) == 8 || len(g.Device) == 10 {
		id := strings.ToLower(strings.TrimPrefix(g.Device, "0x"))
		same(s, "PCI id", fact.PCIID, id[4:]+":"+id[:4])
	}
	same(s, "compute mode", fact.Mode, word(g.Mode, "Default", "default", "Exclusive_Process", "exclusive",
		"Prohibited", "prohibited"))
	same(s, "MIG", fact.MIG, word(g.MIG, "Enabled", "on", "Disabled", "off"))
	if h := fact.Health; h != nil {
		same(s, "persistence", h.Persistence, word(g.Persistence, "Enabled", "on", "Disabled", "off"))
		same(s, "rows to be remapped", fmt.Sprint(h.RemapPending), word(g.Pending, "Yes", "true", "No", "false"))
		same(s, "rows not remapped", fmt.Sprint(h.RemapFailure), word(g.Failure, "Yes", "true", "No", "false"))
		same(s, "fabric", h.Fabric, word(g.Fabric, "Completed", "completed", "In Progress", "in progress",
			"Not Started", "not started"))
	}
}

// same compares where both say something.
func same(s *section, what, fact, said string) {
	switch {
	case said == "" || said == "N/A":
	case fact == said:
		s.say("%-20s %s", what, fact)
	default:
		s.differs("%s: the facts say %q, nvidia-smi %q", what, fact, said)
	}
}

// word puts one of nvidia-smi's words in ours; empty for those that are not listed.
func word(text string, pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if text == pairs[i] {
			return pairs[i+1]
		}
	}
	return ""
}

// shortBus returns "0000:1d:00.0" of "00000000:1D:00.0".
func shortBus(id string) string {
	id = strings.ToLower(id)
	if len(id) > 12 {
		return id[len(id)-12:]
	}
	return id
}
