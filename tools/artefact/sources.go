package artefact

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"cudacompat/internal/tables"

	"github.com/pelletier/go-toml/v2"
)

// Listed is one entry of data/sources.toml: where rows come from, and which program makes them.
type Listed struct {
	ID       string   `toml:"id"`
	Reader   string   `toml:"reader"`
	Projects []string `toml:"projects"` // on the package index
	Beside   []string `toml:"beside"`   // those whose wheels are read for its rows too
	Address  string   `toml:"address"`  // of what is on none
	Tables   []string `toml:"tables"`
	MaxAge   int      `toml:"max_age"` // days
	Copy     string   `toml:"copy"`    // how one gets a copy, where no address has it as it is read
	ReadBy   string   `toml:"read_by"` // of a source that was never read: the day by which it must be

	// Of a package that is built against a framework or a CUDA.
	Since     string   `toml:"since"`     // the oldest release of which there is a row
	Members   []string `toml:"members"`   // libraries that say which CUDA they need
	Code      bool     `toml:"code"`      // their machine code is all that the package has
	Part      bool     `toml:"part"`      // they are some of its libraries: what they need is not all that it needs
	Extra     string   `toml:"extra"`     // by which older releases ask for torch
	Platforms bool     `toml:"platforms"` // the index has another build of a release for each platform
	Named     string   `toml:"named"`     // matches the names of its libraries, one for each CUDA

	// Of NVIDIA's libraries.
	Library string `toml:"library"` // what people call it
	Minors  bool   `toml:"minors"`  // names change with minor versions too
}

// ReadSources reads the list in a directory of tables.
func ReadSources(dir string) ([]Listed, error) {
	name := filepath.Join(dir, "sources.toml")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list struct {
		Source []Listed `toml:"source"`
	}
	decoder := toml.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, l := range list.Source {
		if err := l.check(seen[l.ID]); err != nil {
			return nil, fmt.Errorf("%s: source %q: %w", name, l.ID, err)
		}
		seen[l.ID] = true
	}
	return list.Source, nil
}

func (l Listed) check(twice bool) error {
	_, known := filled[l.Reader]
	switch {
	case l.ID == "":
		return fmt.Errorf("it has no id")
	case twice:
		return fmt.Errorf("it stands twice")
	case !known && l.Reader != typed:
		return fmt.Errorf("there is no reader %q", l.Reader)
	case (l.Address == "") == (len(l.Projects) == 0):
		return fmt.Errorf("it needs either projects or an address")
	case !compiles(l.Named):
		return fmt.Errorf("named is no pattern with two groups")
	case l.ReadBy != "" && !isDay(l.ReadBy):
		return fmt.Errorf("read_by must be a day such as 2026-12-31")
	case l.MaxAge < 0 || l.MaxAge == 0 && l.Reader != typed:
		return fmt.Errorf("max_age must be a number of days")
	}
	for _, table := range l.Tables {
		if !slices.Contains(tables.Names(), table) {
			return fmt.Errorf("there is no table %q", table)
		}
	}
	return nil
}

// filled maps each reader, except typed, to the columns that it fills besides the key's. A cell in another column needs
// a line of hand.csv if only programs support its row.
var filled = map[string][]string{
	"torch": {"cuda", "cudnn", "nccl", "sass", "ptx", "python", "glibc", "cxx11_abi", "torchvision", "torchaudio",
		"triton", "variant"},
	"tensorflow":        {"cuda", "cudnn", "nccl", "sass", "ptx", "python", "glibc", "groups", "packages", "numpy"},
	"jax":               {"cuda", "cudnn", "nccl", "sass", "ptx", "python", "glibc", "jaxlib", "packages"},
	"nccl":              {"built", "sass", "ptx", "ptx_isa", "released"},
	"cudnn":             {"build", "sass", "ptx", "ptx_isa", "capability_min", "released"},
	"triton":            {"ptxas", "ptxas_blackwell"},
	"extension":         {"torch", "cuda", "cudnn", "python", "cxx11_abi", "symbols", "links", "opens"},
	"sagemaker":         {"driver"},
	"library":           {"library", "cuda", "pip"},
	"toolkit":           {"released"},
	"driver-manifests":  {"cuda", "branch", "newest", "first_release"},
	"toolkit-manifests": {"released", "driver_linux"},
	"ptx-isa":           {"ptx_isa"},
	"statuses":          {"api", "code", "text"},
	"host-compilers":    {"gcc_max", "clang_min", "clang_max"},
	"driver-releases":   {"type", "newest"},
	"pci-ids":           {"pci_ids"},
	"open-modules":      {"name", "listed"},
	"torch-windows":     {"cuda", "sass", "ptx", "python"},
	WithoutWindows:      {"releases"},
	"ec2":               nil, // it compares
	Watching:            nil,
}

// fills returns the columns that a source fills.
func (l Listed) fills() []string {
	if l.Code {
		return append(slices.Clone(filled[l.Reader]), "sass", "ptx")
	}
	return filled[l.Reader]
}

// typed is the reader of pages that a person reads. Their rows are typed, and each page's seal in the lock shows that
// nobody has changed one since.
const typed = "typed"

// fixed reports whether a source cannot change: files and threads at an address of their own, wheels.
func (l Listed) fixed() bool { return l.Reader == typed && l.MaxAge == 0 }

func compiles(pattern string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && (pattern == "" || re.NumSubexp() == 2)
}

// Product returns a source whose wheels each make rows, or false.
func (l Listed) Product() (Product, bool) {
	if l.Reader == "extension" {
		return l.extension(), true
	}
	i := slices.IndexFunc(wheelReaders, func(p Product) bool { return p.Name == l.Reader })
	if i < 0 {
		return Product{}, false
	}
	p := wheelReaders[i]
	p.Name, p.Projects = l.ID, l.Projects
	return p, true
}
