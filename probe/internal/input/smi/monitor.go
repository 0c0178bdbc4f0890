package smi

import (
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

var (
	dmonHead = lazyregexp.New(`(?m)^[ >]*# ?gpu +[a-z]`)
	topoHead = lazyregexp.New(`(?m)^[ >]*\t?(?:\x1b\[4m)?\s*GPU0\b.*\bCPU Affinity`)
	topoGPU  = lazyregexp.New(`^[ >]*GPU(\d+)\t`)
)

// monitorFields maps the columns of nvidia-smi dmon to the facts that rules need. No rule needs the others: they tell load,
// and what the past second was like.
var monitorFields = map[string]string{"dbecc": "ECC Errors/Volatile/DRAM Uncorrectable"}

// IsMonitor recognises what nvidia-smi dmon or nvidia-smi topo -m prints, alone.
func IsMonitor(d document.Document) bool { return dmonHead.Match(d.Data) || topoHead.Match(d.Data) }

// ReadMonitor reads these tables. Neither names the GPUs, so what a GPU can run stays unknown:
//
//	# gpu  sbecc  dbecc    pci
//	# Idx   errs   errs   errs
//	    0      0      2      0
//
//	        GPU0    GPU1    CPU Affinity    NUMA Affinity
//	GPU0     X      NV18    0-47            0
func ReadMonitor(d document.Document) (facts.Facts, error) {
	s := &smi{}
	var columns []string
	at := map[string]int{} // GPUs by their indices
	for line := range strings.Lines(string(d.Data)) {
		cells := strings.Fields(strings.TrimLeft(line, " >"))
		switch m := topoGPU.FindStringSubmatch(line); {
		case m != nil:
			s.numbered(at, m[1])
		case dmonHead.MatchString(line):
			columns = strings.Fields(strings.TrimLeft(line, " >#"))
		case len(columns) > 0 && len(cells) == len(columns) && cells[0] != "#":
			g := s.numbered(at, cells[0])
			if g == nil {
				continue
			}
			g.Health = nil // the last line of a GPU is what holds now
			for i, column := range columns {
				if f, ok := byQuery[monitorFields[column]]; ok {
					s.take(g, f, cells[i])
				}
			}
		}
	}
	s.unread("the GPUs", "nvidia-smi topo and dmon do not name them; nvidia-smi without options does")
	return s.done(), nil
}

// numbered returns the GPU of an index, as often as it is listed.
func (s *smi) numbered(at map[string]int, index string) *facts.GPU {
	i, ok := at[index]
	if !ok && len(s.GPUs) >= document.MaxGPUs {
		return nil
	}
	if !ok {
		s.gpu("", "")
		i = len(s.GPUs) - 1
		at[index] = i
	}
	return &s.GPUs[i]
}
