package loader

import (
	"errors"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

func recordTorch(t *pyenv.TorchProcess, b *facts.Build, p *ldso.Process) {
	if t != nil && t.Process == nil {
		t.Build, t.Process = b, p
	}
}

var (
	// torchLibrary matches the libraries of torch that extensions are linked to.
	TorchLibrary = lazyregexp.New(`^lib(torch|torch_cpu|torch_cuda|torch_python|c10|c10_cuda)\.so$`)
	// torchSymbol matches the functions, types and tables of torch's own namespaces, and those of its stable interface:
	// "_ZN3c105ErrorC2ENS_14SourceLocationE…", "_ZTVN5torch8autograd4NodeE", "aoti_torch_get_dim".
	torchSymbol = lazyregexp.New(`^_Z(T[VIS])?N[KVRO]*(2at|3c10|5torch)[0-9]|^(aoti_)?torch_`)
)

// PairWithTorch loads an extension's libraries that link to torch, and records what they need and do not find: the
// runtime of another CUDA than torch's, or symbols of another release. A library that the import certainly loads
// decides, otherwise the one with the package's name. Otherwise all must fail, because packages contain variants of
// which one is enough.
func PairWithTorch(t *pyenv.TorchProcess, b *facts.Build, h *host.Host, s *pyenv.Site, certain func(name string) bool, linked []string) error {
	if t == nil || t.Process == nil || len(linked) == 0 {
		return nil
	}
	if !t.Python {
		t.Python = true
		if _, err := t.Process.Open(t.Build.Path+"/lib/libtorch_python.so", nil, ldso.Global); err != nil {
			return err
		}
	}
	decides := func(file string) bool { return IsMain(file) || certain(strings.TrimPrefix(file, s.Dir+"/")) }
	var lost []facts.Unresolved
	whole, main := true, false
	for _, file := range linked {
		found, err := unmetBeside(t, h, s, file)
		if err != nil {
			return err
		}
		whole = whole && len(found) > 0
		main = main || len(found) > 0 && decides(file)
		lost = append(lost, found...)
		if err := recordLacking(t, b, file, len(linked) == 1 || decides(file)); err != nil {
			return err
		}
	}
	if whole || main {
		b.Unmet = lost[:min(len(lost), maxUnresolved)]
	}
	return nil
}

// unmetBeside returns what one library does not find beside torch. The package's own code may load libraries in wheels
// first.
func unmetBeside(t *pyenv.TorchProcess, h *host.Host, s *pyenv.Site, file string) ([]facts.Unresolved, error) {
	before := len(t.Process.Missing)
	o, err := t.Process.Open(file, nil, ldso.Local)
	if o == nil || err != nil {
		return nil, err
	}
	var list []facts.Unresolved
	for _, m := range t.Process.Missing[before:] {
		name := path.Base(m.Name)
		lost := otherFamily(t, name) || CUDAStem(name) != "" && len(s.InWheels(h, "*/lib/"+name)) == 0
		if m.By == o && lost && errors.Is(m.Err, ldso.ErrNotFound) && t.Process.Loaded(name) == nil {
			list = append(list, facts.Unresolved{By: file, Library: name})
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	for _, name := range o.ELF.Needed {
		if TorchLibrary.MatchString(name) && t.Process.Loaded(name) == nil {
			return nil, nil // this torch is not whole
		}
	}
	symbols, err := t.Process.MissingSymbols(o, func(s ldso.Symbol) bool { return torchSymbol.MatchString(s.Name) })
	for _, s := range symbols {
		list = append(list, facts.Unresolved{Symbol: s.Name, Version: s.Version, By: file})
	}
	return list, err
}

// recordLacking records what a decisive library of a package needs from CUDA libraries and does not find in those that
// torch takes: a library from elsewhere, or torch's own if the package was linked to newer ones.
func recordLacking(t *pyenv.TorchProcess, b *facts.Build, file string, decides bool) error {
	o := t.Process.Loaded(file)
	if o == nil || !decides {
		return nil
	}
	b.Compared = true
	return findUnresolved(b, t.Process, o, cudaLibraries(t.Process))
}

// cudaLibraries returns the CUDA libraries of a process by soname.
func cudaLibraries(p *ldso.Process) map[string]*ldso.Object {
	list := map[string]*ldso.Object{}
	for _, o := range p.Objects {
		if CUDAStem(o.Path) != "" {
			list[o.ELF.Soname] = o
		}
	}
	return list
}

// otherFamily reports whether a library is of another CUDA than torch.
func otherFamily(t *pyenv.TorchProcess, name string) bool {
	m := FamilyName.FindStringSubmatch(name)
	major, _, _ := strings.Cut(t.Build.CUDA, ".")
	return m != nil && major != "" && m[1] != major
}

// IsMain reports whether a library is what a package imports first: torchvision/_C.so, torchaudio/lib/libtorchaudio.so.
func IsMain(file string) bool {
	stem, _, _ := strings.Cut(path.Base(file), ".")
	own := path.Base(strings.TrimSuffix(path.Dir(file), "/lib"))
	return slices.Contains([]string{"_C", "_" + own, "lib" + own}, stem)
}
