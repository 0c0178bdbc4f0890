package tables

import (
	"fmt"
	"reflect"
	"slices"

	"cudacompat/internal/tables/sheet"
)

// sheets is every table, in the order in which they are listed for people. A new one is an entry here and the type of
// its rows.
var sheets = []sheet.Sheet{
	sheet.New[CUDA]("cuda", 1, sheet.CSVFile),
	sheet.New[Branch]("driver_branch", 1, sheet.CSVFile),
	sheet.New[Chip]("gpu", 1, sheet.CSVFile),
	sheet.New[Product]("product", 1, sheet.CSVFile),
	sheet.New[Minor]("minor_compat", 1, sheet.CSVFile),
	sheet.New[Forward]("forward_compat", 1, sheet.CSVFile),
	sheet.New[Torch]("torch", 3, sheet.CSVFile),
	sheet.New[Default]("pypi_default", 2, sheet.CSVFile),
	sheet.New[TensorFlow]("tensorflow", 3, sheet.CSVFile),
	sheet.New[JAX]("jax", 3, sheet.CSVFile),
	sheet.New[NCCL]("nccl", 2, sheet.CSVFile),
	sheet.New[CuDNN]("cudnn", 2, sheet.CSVFile),
	sheet.New[Triton]("triton", 1, sheet.CSVFile),
	sheet.New[HostCompiler]("host_compiler", 1, sheet.CSVFile),
	sheet.New[Instance]("ec2", 1, sheet.CSVFile),
	sheet.New[Alias]("instance_alias", 1, sheet.CSVFile),
	sheet.New[MachineImage]("sagemaker", 1, sheet.CSVFile),
	sheet.New[Container]("container", 2, sheet.CSVFile),
	sheet.New[Xid]("xid", 1, sheet.CSVFile),
	sheet.New[Library]("library", 1, sheet.CSVFile),
	sheet.New[Status]("status", 1, sheet.CSVFile),
	sheet.New[Cause]("cause", 1, sheet.CSVFile),
	sheet.New[Signature]("signature", 1, sheet.Stanzas),
	sheet.New[Extension]("extension", 4, sheet.CSVFile),
	sheet.New[Package]("package", 1, sheet.CSVFile),
	sheet.New[Trait]("trait", 2, sheet.CSVFile),
	sheet.New[Advisory]("advisory", 1, sheet.CSVFile),
	sheet.New[Hand]("hand", 3, sheet.CSVFile),
}

// sheetFor returns the table whose rows are of a type.
func sheetFor(row reflect.Type) sheet.Sheet {
	return sheets[slices.IndexFunc(sheets, func(s sheet.Sheet) bool { return s.Row == row })]
}

func sheetNamed(name string) (sheet.Sheet, bool) {
	i := slices.IndexFunc(sheets, func(s sheet.Sheet) bool { return s.Name == name })
	if i < 0 {
		return sheet.Sheet{}, false
	}
	return sheets[i], true
}

// Names returns the names of the tables, in the order in which they are listed for people.
func Names() []string {
	var list []string
	for _, s := range sheets {
		list = append(list, s.Name)
	}
	return list
}

// Grid reads and lints one table.
func (t *Tables) Grid(table string) (sheet.Grid, error) {
	s, ok := sheetNamed(table)
	if !ok {
		return sheet.Grid{}, fmt.Errorf("there is no table %q", table)
	}
	if _, err := s.Read(s, t.from, sheet.CheckCell); err != nil {
		return sheet.Grid{}, err
	}
	g, err := s.ReadGrid(t.from)
	g.Lock = t.lock
	return g, err
}
