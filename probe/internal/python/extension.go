package python

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// Bounds on the search for extensions. A library with CUDA code for one GPU alone has some hundred kilobytes.
const (
	extensionSize  = 1 << 20 // least size of a library worth reading, in bytes
	maxExtensions  = 64      // distributions with CUDA code in one environment
	maxExtensionSO = 64      // libraries read of one distribution; bitsandbytes has some 15
)

// notExtensions are distributions that are judged otherwise, or whose code proves nothing: NVIDIA's libraries load and
// generate much of theirs when they run.
var notExtensions = lazyregexp.New(`^(nvidia-.*|cuda-.*|nccl-.*|nvshmem.*|tensorrt.*|cutensor.*|cuquantum.*|` +
	`custatevec.*|cudensitymat.*|warp-lang|` +
	`torch|tensorflow.*|tf-nightly.*|jax|jaxlib|jax-cuda\d+-.*|triton|pytorch-triton)$`)

// extensions reads every distribution beside a CUDA framework that carries CUDA code: flash-attn, vllm, xformers,
// bitsandbytes, or one that nobody else knows; without a framework those alone that need none. Their RECORDs say which
// have large libraries at all.
func extensions(h *host.Host, s *site, cuda string, framework bool, failed *host.Errors) []facts.Build {
	entries, err := h.ReadDir(s.dir)
	if err != nil {
		return nil // distributions has said so
	}
	var list []facts.Build
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), ".dist-info")
		name, version, _ := strings.Cut(stem, "-")
		if name = distname.Normal(name); !ok || notExtensions.MatchString(name) || len(list) == maxExtensions ||
			!framework && openers[name] == nil {
			continue
		}
		b := &facts.Build{Name: name, Version: version, Accelerator: "cuda", Extension: true,
			Path: path.Join(s.dir, e.Name()), From: path.Join(s.dir, e.Name(), "RECORD")}
		failed.Add(readExtension(b, h, s, cuda))
		if len(b.SASS)+len(b.PTX) > 0 {
			failed.Add(readOpened(b, h, s))
			list = append(list, *b)
		}
	}
	if len(list) > 0 {
		noteParts(h, s.dir, entries, list, failed)
	}
	return list
}

// noteParts notes which of the extensions came along with another distribution. One that was installed from a
// directory or a repository is the user's own, and what it requires is the user's choice.
func noteParts(h *host.Host, dir string, entries []fs.DirEntry, list []facts.Build, failed *host.Errors) {
	for _, e := range entries {
		info := path.Join(dir, e.Name())
		stem, ok := strings.CutSuffix(e.Name(), ".dist-info")
		if !ok || h.Exists(info+"/direct_url.json") {
			continue
		}
		data, err := h.ReadFile(info + "/METADATA")
		if !host.Absent(err) {
			failed.Add(err)
		}
		by, _, _ := strings.Cut(stem, "-")
		for i := range list {
			b := &list[i]
			if b.PartOf == "" && b.Name != distname.Normal(by) &&
				(requires(data, b.Name, false) || unasked(b, h) && requires(data, b.Name, true)) {
				b.PartOf = distname.Normal(by)
			}
		}
	}
}

// unasked says that a package that goes without a framework may have come by another's extra, as CuPy by Ray's: pip
// marks what the user named; uv marks everything.
func unasked(b *facts.Build, h *host.Host) bool {
	installer, _ := h.ReadLine(b.Path + "/INSTALLER")
	return openers[b.Name] != nil && !(installer == "pip" && h.Exists(b.Path+"/REQUESTED"))
}

// extension reads the code of the libraries that a distribution would load beside a framework of a CUDA version.
func readExtension(b *facts.Build, h *host.Host, s *site, cuda string) error {
	record, err := h.ReadFile(b.From)
	if err != nil {
		return err
	}
	var failed host.Errors
	families := map[string]bool{}
	for _, name := range loadedOf(largeLibraries(record), cuda) {
		full := path.Join(s.dir, name)
		before := len(b.SASS) + len(b.PTX)
		failed.Add(addCode(b, h, full))
		if len(b.SASS)+len(b.PTX) == before {
			continue
		}
		if family := cudaFamily(h, full); family != "" {
			families[family] = true
		}
	}
	if len(families) == 1 {
		for family := range families {
			b.CUDA = family
		}
	}
	return failed.Err()
}

// largeLibraries lists the libraries of a RECORD that are large enough, such as
// "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so,sha256=…,987654321". RECORDs can have ten thousands of lines.
func largeLibraries(record []byte) []string {
	var list []string
	for line := range bytes.Lines(record) {
		at := bytes.Index(line, []byte(".so"))
		if at < 0 || len(list) == maxExtensionSO {
			continue
		}
		name, rest, _ := bytes.Cut(line, []byte(","))
		_, size, ok := bytes.Cut(rest, []byte(","))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64)
		if ok && err == nil && n >= extensionSize && libraryFile.Match(name) && !bytes.HasPrefix(name, []byte("..")) {
			list = append(list, string(name))
		}
	}
	return list
}

var (
	libraryFile = lazyregexp.New(`\.so(\.\d+)*$`)
	familyFile  = lazyregexp.New(`_cuda(1[0-9])(\d)(_\w+)?\.so$`)
)

// loadedOf drops the libraries that are for another CUDA. bitsandbytes ships one for each, libbitsandbytes_cuda128.so,
// loads that of torch's, and since 0.50 else another of the same major.
func loadedOf(names []string, cuda string) []string {
	major, minor, _ := strings.Cut(cuda, ".")
	minor, _, _ = strings.Cut(minor, ".")
	isFor := func(name, minor string) bool {
		m := familyFile.FindStringSubmatch(name)
		return m == nil || m[1] == major && (minor == "" || m[2] == minor)
	}
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFor(name, minor) })
	if slices.ContainsFunc(own, familyFile.MatchString) || !slices.ContainsFunc(names, familyFile.MatchString) {
		return own
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isFor(name, "") })
}

var cudartName = lazyregexp.New(`^libcudart\.so\.(\d+)`)

// cudaFamily is the major of the CUDA runtime that a library needs, empty when it is linked in.
func cudaFamily(h *host.Host, name string) string {
	f, err := h.Files().Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	e, err := ldso.Read(f)
	if err != nil {
		return ""
	}
	for _, needed := range e.Needed {
		if m := cudartName.FindStringSubmatch(needed); m != nil {
			return m[1]
		}
	}
	return ""
}
