package tables

import (
	"fmt"
	"reflect"
	"slices"
)

// sheets is every table, in the order in which they are listed for people. A new one is an entry here and the type of
// its rows.
var sheets = []sheet{
	sheetOf[CUDA]("cuda", 1, csvFile),
	sheetOf[Branch]("driver_branch", 1, csvFile),
	sheetOf[Chip]("gpu", 1, csvFile),
	sheetOf[Product]("product", 1, csvFile),
	sheetOf[Minor]("minor_compat", 1, csvFile),
	sheetOf[Forward]("forward_compat", 1, csvFile),
	sheetOf[Torch]("torch", 3, csvFile),
	sheetOf[Default]("pypi_default", 2, csvFile),
	sheetOf[TensorFlow]("tensorflow", 3, csvFile),
	sheetOf[JAX]("jax", 3, csvFile),
	sheetOf[NCCL]("nccl", 2, csvFile),
	sheetOf[CuDNN]("cudnn", 2, csvFile),
	sheetOf[Triton]("triton", 1, csvFile),
	sheetOf[HostCompiler]("host_compiler", 1, csvFile),
	sheetOf[Instance]("ec2", 1, csvFile),
	sheetOf[Alias]("instance_alias", 1, csvFile),
	sheetOf[MachineImage]("sagemaker", 1, csvFile),
	sheetOf[Container]("container", 2, csvFile),
	sheetOf[Xid]("xid", 1, csvFile),
	sheetOf[Library]("library", 1, csvFile),
	sheetOf[Status]("status", 1, csvFile),
	sheetOf[Cause]("cause", 1, csvFile),
	sheetOf[Signature]("signature", 1, stanzas),
	sheetOf[Extension]("extension", 4, csvFile),
	sheetOf[Package]("package", 1, csvFile),
	sheetOf[Trait]("trait", 2, csvFile),
	sheetOf[Advisory]("advisory", 1, csvFile),
	sheetOf[Hand]("hand", 3, csvFile),
}

// sheetFor returns the table whose rows are of a type.
func sheetFor(row reflect.Type) sheet {
	return sheets[slices.IndexFunc(sheets, func(s sheet) bool { return s.row == row })]
}

func sheetNamed(name string) (sheet, bool) {
	i := slices.IndexFunc(sheets, func(s sheet) bool { return s.name == name })
	if i < 0 {
		return sheet{}, false
	}
	return sheets[i], true
}

// Names returns the names of the tables, in the order in which they are listed for people.
func Names() []string {
	var list []string
	for _, s := range sheets {
		list = append(list, s.name)
	}
	return list
}

// Grid reads and lints one table.
func (t *Tables) Grid(table string) (Grid, error) {
	s, ok := sheetNamed(table)
	if !ok {
		return Grid{}, fmt.Errorf("there is no table %q", table)
	}
	if _, err := s.read(s, t.from, checkCell); err != nil {
		return Grid{}, err
	}
	g, err := s.grid(t.from)
	g.lock = t.lock
	return g, err
}
