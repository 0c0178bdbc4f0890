package smi

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
)

var (
	csvColumn     = lazyregexp.New(`^([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)(?: \[[A-Za-z%]+\])?$`)
	csvCommand    = lazyregexp.New(`\bnvidia-smi\b.*--query-gpu`)
	csvCapability = lazyregexp.New(`^\d{1,2}\.\d$`)
)

// csvFields maps the columns of nvidia-smi --query-gpu to the facts that rules need.
var csvFields = map[string]string{
	"name": "Product Name", "gpu_name": "Product Name", "pci.device_id": "PCI/Device Id",
	"persistence_mode": "Persistence Mode", "compute_mode": "Compute Mode", "mig.mode.current": "MIG Mode/Current",
	"ecc.errors.uncorrected.volatile.total": "ECC Errors/Volatile/DRAM Uncorrectable",
	"memory.total":                          "FB Memory Usage/Total", "memory.used": "FB Memory Usage/Used",
}

// csvIgnored matches the columns that no rule needs: they identify a board or tell its load.
var csvIgnored = lazyregexp.New(`^(?:index|count|timestamp|(?:gpu_)?(?:uuid|serial)|vbios_version|pstate|fan\.speed|memory\.(?:free|reserved)|` +
	`(?:pci|temperature|utilization|power|clocks|display|encoder|enforced|accounting|mig)(?:[._].*)?)$`)

// csvKnown reports whether nvidia-smi has a column of that name that tells its output from any other list with names.
func csvKnown(column string) bool {
	return csvFields[column] != "" && column != "name" || column == "driver_version" || column == "compute_cap" ||
		column == "gpu_bus_id" || csvIgnored.MatchString(column)
}

// csvLine bounds a line: all columns that nvidia-smi has take less.
const csvLine = 16 << 10

// csvTable is the output of nvidia-smi --query-gpu.
type csvTable struct {
	columns []string
	rows    [][]string // the first, as many as are read
	count   int        // of all rows
}

// parseCSV divides the output into its header and its rows. ok is false for any other text: no line is left out, apart from the
// command above it and the fences of a code block.
func parseCSV(data []byte) (t csvTable, ok bool) {
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(strings.TrimLeft(line, " >\t"))
		if len(line) > csvLine {
			return t, false
		}
		cells := strings.Split(line, ", ")
		switch {
		case line == "", strings.HasPrefix(line, "```"), len(t.columns) == 0 && csvCommand.MatchString(line):
		case len(t.columns) == 0:
			for _, cell := range cells {
				m := csvColumn.FindStringSubmatch(cell)
				if m == nil {
					return t, false
				}
				t.columns = append(t.columns, m[1])
			}
			if !slices.ContainsFunc(t.columns, csvKnown) || !slices.ContainsFunc(t.columns, func(column string) bool {
				return column == "driver_version" || csvFields[column] == "Product Name"
			}) {
				return t, false
			}
		case len(cells) != len(t.columns):
			return t, false
		default:
			if t.count++; t.count <= document.MaxGPUs {
				t.rows = append(t.rows, cells)
			}
		}
	}
	return t, len(t.rows) > 0
}

// IsCSV recognises what nvidia-smi --query-gpu=… --format=csv prints with its header.
func IsCSV(d document.Document) bool {
	_, ok := parseCSV(d.Data)
	return ok
}

// ReadCSV reads this output. A column that is neither read nor ignored is named in the report:
//
//	name, driver_version, memory.total [MiB]
//	NVIDIA L4, 550.90.07, 23034 MiB
func ReadCSV(d document.Document) (facts.Facts, error) {
	t, _ := parseCSV(d.Data)
	if err := document.TooMany(t.count, document.MaxGPUs, "GPUs"); err != nil {
		return facts.Facts{}, err
	}
	s := &smi{}
	memory := slices.Contains(t.columns, "memory.total") && slices.Contains(t.columns, "memory.used")
	if !slices.ContainsFunc(t.columns, func(column string) bool { return csvFields[column] == "Product Name" }) {
		s.unread("the GPUs", "this query of nvidia-smi does not name them; nvidia-smi without options does")
	}
	for _, row := range t.rows {
		g := s.gpu("", "")
		for i, column := range t.columns {
			value := row[i]
			f, mapped := byQuery[csvFields[column]]
			switch {
			case column == "driver_version" && s.Driver.Version == "":
				s.driver(value, "")
			case column == "driver_version":
			case column == "pci.bus_id" || column == "gpu_bus_id":
				g.Bus = shortBus(value)
			case column == "compute_cap":
				g.Capability = csvCapability.FindString(value)
			case strings.HasPrefix(column, "memory.") && mapped && !memory: // one number does not tell how much is free
			case mapped && strings.HasPrefix(value, "["): // no value, but the reason why there is none
				f.set = func(*facts.GPU, string) bool { return false }
				s.take(g, f, value)
			case mapped:
				s.take(g, f, value)
			case !csvIgnored.MatchString(column):
				s.noteStrange(column)
			}
		}
	}
	s.system(false)
	return s.done(), nil
}
