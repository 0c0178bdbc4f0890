package driver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"

	"github.com/klauspost/compress/zstd"
)

// ModuleDirs lists where a kernel keeps NVIDIA's module: DKMS, kmod packages, NVIDIA's prebuilt modules for Red Hat,
// Ubuntu's, links to the module of another kernel, and last Arch's and Gentoo's.
var ModuleDirs = []string{
	"updates", "updates/dkms", "extra", "extra/*", "extra/drivers/video/nvidia", "kernel/nvidia*",
	"kernel/drivers/video", "kernel/drivers/video/nvidia", "kernel/drivers/nvidia", "weak-updates", "weak-updates/*",
	"weak-updates/drivers/video/nvidia", "extramodules", "video",
}

// ReadModules reads the version of nvidia.ko for every installed kernel.
func ReadModules(h *host.Host) (source.Update, error) {
	kernels, err := h.ReadDir("/lib/modules")
	if err != nil {
		return nil, err
	}
	var modules []facts.Module
	var failed host.Errors
	for _, k := range kernels {
		m, err := kernelModule(h, k.Name())
		failed.Add(err)
		if m != nil {
			modules = append(modules, *m)
		}
	}
	if len(modules)+len(failed) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Driver.Modules = modules }, failed.Err()
}

// kernelModule finds one kernel's module, or returns nil. A dangling link to the module of a removed kernel does not
// count.
func kernelModule(h *host.Host, kernel string) (*facts.Module, error) {
	for _, file := range moduleFiles(h, path.Join("/lib/modules", kernel)) {
		version, flavour, err := moduleInfo(h, file)
		if !host.Absent(err) {
			return &facts.Module{Kernel: kernel, Version: version, Path: file, Flavour: flavour}, err
		}
	}
	return nil, nil
}

// moduleFiles lists the candidates for one kernel's module, most likely first: modprobe loads the one that depmod
// indexed.
func moduleFiles(h *host.Host, dir string) []string {
	files := indexedModules(h, dir)
	for _, sub := range ModuleDirs {
		for _, name := range []string{"nvidia.ko*", "nvidia-current.ko*"} {
			files = append(files, h.Glob(path.Join(dir, sub, name))...)
		}
	}
	return files
}

// indexedModules reads a kernel's modules.dep: "extra/drivers/video/nvidia/nvidia.ko.xz:
// kernel/drivers/acpi/video.ko.xz".
func indexedModules(h *host.Host, dir string) []string {
	var files []string
	index := h.ReadQuietly(dir + "/modules.dep")
	for _, name := range []string{"/nvidia.ko", "/nvidia-current.ko"} {
		for at := 0; ; at++ {
			i := bytes.Index(index[at:], []byte(name))
			if i < 0 {
				break
			}
			at += i
			line, _, _ := bytes.Cut(index[bytes.LastIndexByte(index[:at], '\n')+1:], []byte("\n"))
			if file, _, ok := bytes.Cut(line, []byte(":")); ok && bytes.Contains(file, []byte(name)) {
				files = append(files, path.Join(dir, string(file)))
			}
		}
	}
	return files
}

// moduleVersionField matches "version=", but not "srcversion=" or "rhelversion=9.4".
var moduleVersionField = lazyregexp.New(`(?:^|[^a-z])version=(\d{3,4}\.\d+(?:\.\d+)?)\x00`)

// moduleInfo reads "version=550.90.07" and "license=NVIDIA" from the .modinfo section of a plain, gzip, xz or zstd
// compressed module.
func moduleInfo(h *host.Host, name string) (version, flavour string, err error) {
	f, err := h.Open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	r, done, err := decompress(f, name)
	if err != nil {
		return "", "", host.Damaged(name, err.Error())
	}
	defer done()
	var licence licenceScanner
	version, err = host.SearchFirst(io.TeeReader(r, &licence), "version=", moduleVersionField, moduleCap)
	if err != nil {
		return "", licence.flavour, host.Damaged(name, err.Error())
	}
	if version == "" {
		return "", licence.flavour, fmt.Errorf("%s: no version in it; is it NVIDIA's module?", name)
	}
	return version, licence.flavour, nil
}

// moduleCap bounds how much of a module is decompressed. The proprietary nvidia.ko has about 100 MB.
const moduleCap = 512 << 20

// decompress chooses the format by the file's extension, as modprobe does. The buffer serves xz, which reads one byte
// at a time.
func decompress(f io.Reader, name string) (io.Reader, func(), error) {
	none := func() {}
	r := bufio.NewReaderSize(f, 1<<16)
	switch path.Ext(name) {
	case ".zst":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(moduleCap), zstd.WithDecoderMaxWindow(windowCap))
		if err != nil {
			return nil, none, err
		}
		return z, z.Close, nil
	case ".xz":
		z, err := newXZReader(r)
		return z, none, err
	case ".gz":
		z, err := gzip.NewReader(r)
		return z, none, err
	}
	return r, none, nil
}
