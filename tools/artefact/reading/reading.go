// Package reading reads one wheel: its metadata, its version files, and its libraries with their machine code, the
// libraries that these need, and the constants by which NCCL and cuDNN say their version.
//
// What was read of a wheel is kept in a cache under the wheel's sha256, and so are the pages that were fetched. A
// Reading makes no row: package artefact does.
package reading

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/fatbin"
	"cudacompat/probe"
	"cudacompat/probe/facts"
	"cudacompat/tools/artefact/wheel"
)

// Reading is what was read of one wheel.
type Reading struct {
	Wheel     string
	SHA256    string
	Members   []string // the patterns by which it was read
	Date      string   // on which it was read
	Tag       wheel.Tag
	Build     facts.Build            // what `cudacompat probe` would find where the wheel is installed
	Metadata  string                 // METADATA's header
	Code      map[string]fatbin.Code // by the name of the library in the wheel
	Glibc     string                 // newest one that a library needs, whatever the wheel's tag says
	Banner    string                 // NCCL's own version and CUDA, "2.27.5+cuda12.9"
	Constants []int                  // numbers that code hands to a function, where versions can be among them
	Libraries []string               // the names of all that were read, in the wheel
	Families  []string               // the CUDA families that they need: "12"
	Needs     Needs                  // what they need of torch and CUDA
	CuDNN     string                 // the major version of the cuDNN that one of them is linked to: "9"
	Paddle    string                 // the CUDA that PaddlePaddle says it was built with, "11.8"
	Ptxas     map[string]string      `json:",omitempty"` // versions of the assemblers inside, by their file's name
}

// NameSource returns the reading as a source of a row.
func (r *Reading) NameSource() string { return "wheel " + r.Wheel + " sha256:" + r.SHA256 }

// Reader reads wheels, and keeps what it read.
type Reader struct {
	Web   *wheel.Web
	Cache string // a directory
}

// CacheForm must be increased when a Reading gets more data from the same members. Older ones in a cache are then read
// again.
const CacheForm = "4"

// Read reads the members of a wheel that match the patterns, or returns what was read before.
func (r *Reader) Read(ctx context.Context, f wheel.File, patterns []string) (*Reading, error) {
	if f.SHA256 == "" {
		return nil, fmt.Errorf("%s: the index gives no sha256, by which a row names its wheel", f.Name)
	}
	kept := filepath.Join(r.Cache, CacheForm, f.SHA256+"-"+NamePatterns(patterns)+".json")
	if data, err := os.ReadFile(kept); err == nil {
		reading := new(Reading)
		if json.Unmarshal(data, reading) == nil && slices.Equal(reading.Members, patterns) {
			return reading, nil
		}
	}
	if r.Web.Offline {
		return nil, fmt.Errorf("%s: %w", f.Name, ErrNotKept)
	}
	reading, err := r.readWheel(ctx, f, patterns)
	if err != nil {
		return nil, err
	}
	return reading, keep(kept, reading)
}

// NamePatterns returns a name that distinguishes readings of one wheel by their patterns.
func NamePatterns(patterns []string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(strings.Join(patterns, "\n"))))
}

// keep writes a reading into the cache, whole or not at all.
func keep(name string, reading *Reading) error {
	data, err := json.MarshalIndent(reading, "", " ")
	if err != nil {
		return err
	}
	return WriteWhole(name, data)
}

// ReadOnce returns what read returns for a wheel, cached under a name.
func ReadOnce[T any](r *Reader, f wheel.File, name string, read func() (T, error)) (value T, err error) {
	kept := filepath.Join(r.Cache, CacheForm, f.SHA256+"-"+name+".json")
	if data, err := os.ReadFile(kept); err == nil && json.Unmarshal(data, &value) == nil {
		return value, nil
	}
	if r.Web.Offline {
		return value, fmt.Errorf("%s: %w", f.Name, ErrNotKept)
	}
	if value, err = read(); err != nil {
		return value, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return value, err
	}
	return value, WriteWhole(kept, data)
}

// WriteWhole writes a file beside its place and then moves it there.
func WriteWhole(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if e := temp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	return err
}

// environment is where a wheel's members are laid out for the probe, in a tree of its own.
const environment = "/opt/venv"

// readWheel lays the members out as an installation and reads that as `cudacompat probe` would.
func (r *Reader) readWheel(ctx context.Context, f wheel.File, patterns []string) (*Reading, error) {
	tag, ok := f.Tag()
	if !ok {
		return nil, fmt.Errorf("%s is no wheel's name", f.Name)
	}
	root, err := os.MkdirTemp("", "artefact-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	site := filepath.Join(root, environment, "lib", "python"+cmp.Or(tag.Python, "3.12"), "site-packages")
	wheel, err := r.Web.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	defer wheel.Close()
	names, err := wheel.Extract(site, append([]string{"*.dist-info/METADATA", "*.dist-info/WHEEL"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	reading := &Reading{Wheel: f.Name, SHA256: f.SHA256, Members: patterns, Date: time.Now().Format(time.DateOnly),
		Tag: tag, Code: map[string]fatbin.Code{}}
	return reading, reading.take(ctx, root, site, names)
}

// take reads what was laid out.
func (r *Reading) take(ctx context.Context, root, site string, names []string) error {
	for _, name := range names {
		var err error
		switch {
		case strings.HasSuffix(name, ".dist-info/METADATA"):
			err = r.takeMetadata(filepath.Join(site, name))
		case strings.HasSuffix(name, "paddle/version/__init__.py"):
			err = r.takePaddle(filepath.Join(site, name))
		case strings.HasPrefix(filepath.Base(name), "ptxas"):
			err = r.takePtxas(filepath.Join(site, name))
		case strings.Contains(name, ".so"), strings.Contains(name, ".libs/lib"):
			err = r.takeLibrary(filepath.Join(site, name), name)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", r.Wheel, name, err)
		}
	}
	if r.Metadata == "" {
		return fmt.Errorf("%s: there is no METADATA in it", r.Wheel)
	}
	return r.takeBuild(ctx, root)
}

// takeBuild stores what the probe says about the tree.
func (r *Reading) takeBuild(ctx context.Context, root string) error {
	tree, err := probe.Tree(root)
	if err != nil {
		return err
	}
	node := probe.Run(ctx, tree, probe.Options{Envs: []string{environment}, Timeout: 10 * time.Minute})
	for _, p := range node.Probes {
		if p.Name == "python" && p.Status == "failed" {
			return fmt.Errorf("%s: %s", r.Wheel, p.Error)
		}
	}
	for _, env := range node.Environments {
		if len(env.Builds) > 0 {
			r.Build = env.Builds[0]
		}
	}
	return nil
}

func (r *Reading) takeMetadata(name string) error {
	data, err := os.ReadFile(name)
	r.Metadata, _, _ = strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n\n") // the description follows
	return err
}

// paddleCUDA matches the line of PaddlePaddle's version file:
//
//	cuda_version     = '11.8'
var paddleCUDA = regexp.MustCompile(`(?m)^cuda_version *= *'([\d.]+)'`)

func (r *Reading) takePaddle(name string) error {
	data, err := os.ReadFile(name)
	if m := paddleCUDA.FindSubmatch(data); m != nil {
		r.Paddle = string(m[1])
	}
	return err
}

// assemblerVersion matches what ptxas prints of itself: "Cuda compilation tools, release 12.9, V12.9.86".
var assemblerVersion = regexp.MustCompile(`release \d+\.\d+, V(\d+\.\d+\.\d+)`)

func (r *Reading) takePtxas(name string) error {
	data, err := os.ReadFile(name)
	if m := assemblerVersion.FindSubmatch(data); m != nil {
		if r.Ptxas == nil {
			r.Ptxas = map[string]string{}
		}
		r.Ptxas[filepath.Base(name)] = string(m[1])
	}
	return err
}

// takeLibrary reads one library: its machine code, the glibc that it needs, and its version information.
func (r *Reading) takeLibrary(file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	code, err := fatbin.Read(f, info.Size())
	if err != nil {
		return err
	}
	if code.Containers > 0 {
		r.Code[name] = code
	}
	library, err := elf.NewFile(f)
	if err != nil {
		return err
	}
	r.Libraries = append(r.Libraries, name)
	r.Families = append(r.Families, familiesOf(library)...)
	slices.Sort(r.Families)
	r.Families = slices.Compact(r.Families)
	r.Needs.take(library)
	r.Glibc = PickNewer(r.Glibc, glibcOf(library))
	r.CuDNN = PickNewer(r.CuDNN, cudnnOf(library))
	if strings.HasSuffix(name, "/libnccl.so.2") {
		r.Banner = bannerOf(library)
	}
	if strings.HasSuffix(name, "/_versions.so") {
		r.Constants = constantsOf(library)
	}
	return nil
}

// ListCode returns the code of all libraries that were read, by what most of each one's containers have.
func (r *Reading) ListCode(share float64) (sass, ptx []string, isa string) {
	var targets []fatbin.Target
	for _, c := range r.Code {
		c = c.Common(share)
		targets = append(append(targets, c.SASS...), c.PTX...)
	}
	slices.SortFunc(targets, func(a, b fatbin.Target) int {
		return cmp.Or(cmp.Compare(a.Arch, b.Arch), cmp.Compare(a.Suffix, b.Suffix))
	})
	for _, t := range targets {
		if t.PTXVersion != "" {
			ptx, isa = append(ptx, t.String()), PickNewer(isa, t.PTXVersion)
		} else {
			sass = append(sass, t.String())
		}
	}
	return slices.Compact(sass), slices.Compact(ptx), isa
}

// FormatGroups returns those of the libraries that have more than one:
//
//	.nv_fatbin=sm_90+compute_90@8.3 .rodata=sm_89+compute_90a@8.5
func (r *Reading) FormatGroups() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(r.Code)) {
		list := r.Code[name].Groups
		for _, g := range list {
			if len(list) > 1 {
				words = append(words, g.Section+"="+strings.Join(groupTargets(g), "+"))
			}
		}
	}
	return strings.Join(words, " ")
}

func groupTargets(g fatbin.Group) []string {
	var list []string
	for _, t := range slices.Concat(g.SASS, g.PTX) {
		text := t.String()
		if t.PTXVersion != "" {
			text += "@" + t.PTXVersion
		}
		list = append(list, text)
	}
	return list
}

// FindGlibc returns the minimum glibc: that of the wheel's tag, or of its libraries if that is higher.
func (r *Reading) FindGlibc() string { return PickNewer(r.Tag.Glibc, r.Glibc) }

// NameLibraries returns the base names of the libraries with machine code.
func (r *Reading) NameLibraries() []string {
	var list []string
	for name := range r.Code {
		list = append(list, name[strings.LastIndex(name, "/")+1:])
	}
	slices.Sort(list)
	return list
}

// ListNames returns those of a wheel's members, read from its directory or from the cache.
func (r *Reader) ListNames(ctx context.Context, f wheel.File) ([]string, error) {
	return ReadOnce(r, f, "names", func() (names []string, err error) {
		wheel, err := r.Web.Open(ctx, f)
		if err != nil {
			return nil, err
		}
		defer wheel.Close()
		for _, m := range wheel.Zip.File {
			names = append(names, m.Name)
		}
		return names, nil
	})
}
