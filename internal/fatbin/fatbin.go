// Package fatbin lists the GPU machine code in an ELF file from its fat-binary headers. The file is not
// loaded and hardly a payload is read: of a gigabyte of code a megabyte or two are enough.
//
// A fat-binary section is a row of containers, one for each translation unit or device link. A container is
// a header and its entries; an entry is a header, which is never compressed, and a payload for one target:
// SASS (a cubin) or PTX. The sections are .nv_fatbin and, for relocatable device code, __nv_relfatbin; PTX
// that stands only there still counts, because it is linked when the library is loaded on a GPU that no
// SASS serves (cuobjdump leaves it out).
//
// # Suffixes
//
// An entry's arch field has no suffix; its flags do: bit 20 is "a", bit 21 is "f". Evidence:
//
//   - What fatbinary 12.4.131 (Debian nvidia-cuda-toolkit 12.4.131~12.4.1-2) wrote for sm_90 and sm_90a, and
//     13.0.88 (wheel nvidia_cuda_nvcc-13.0.88
//     sha256:56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03) for sm_90, 100, 103 and 120
//     with and without each suffix, differs there in these bits, for SASS and PTX, compressed and not.
//   - A cubin says "a" in e_flags too: 0x800 in ELF ABI 7, 0x8 in ABI 8 as ptxas 12.8 and 12.9 write it.
//     In 15386 cubins of sm_90 and later these bits and bit 20 agree, 1552 times set, never against each
//     other. Among them: wheel torch-2.8.0 sha256:c12fa219f51a933d5f80eeb3a7a5d0cbe9168c0a14bbb4055f1979431660879b
//     and what it requires, wheel xformers-0.0.32.post1
//     sha256:5f245b5555188da112070d8fefb6b7ae1ae47422856521d66c837e9d2352fbe4, and wheel vllm-0.5.0
//     sha256:72f35a3b5f9f303783ba38832de00ba9832af136b36d6b510f09d8a10375cf2d, built with CUDA 12.1.
//   - ptxas 13 sets no such bit; it notes its command line, "-arch sm_90a", in .note.nv.tkinfo. In all cubins of sm_90
//     and later of wheel onnxruntime_gpu-1.31.1
//     sha256:05d548956197b9d01f59b625de740e0d6be3593f874e241a12dc0362650ecdf7 that is what bits 20 and 21 say.
//   - cuobjdump 13.5.37 (wheel nvidia_cuda_cuobjdump-13.5.37
//     sha256:38780fee50863252a0b8926357faa91615ca1c8346490563f33a06100cd73f58) takes the suffix of PTX from
//     these bits and that of SASS from the cubin, where it leaves "f" out. It names the same targets.
//
// cuBLASLt 12.0 and 12.1 have neither bit anywhere: NVIDIA built their sm_90 code without a suffix.
//
// XLA's and TensorFlow's MLIR kernels have no bit for the "a" of their PTX; it stands in the PTX itself.
//
// # Where
//
// nvcc puts containers into sections of their own. Others stand wherever data stand, as TensorFlow's MLIR kernels
// (1149 in .rodata, 248 in .nv_fatbin of 2.20.0) and cuFFT's (23531 in .ldata of 11.3.3.83). These are found by the
// magic number in the sections that are loaded and not executable, of files that show nvcc's sections.
//
// Code that is embedded in another way, or generated when the program runs, is in no fat binary at all. So an empty
// or surprising list does not prove that one of NVIDIA's own libraries lacks a GPU.
package fatbin

import (
	"cmp"
	"io"
	"slices"
)

// Code is the GPU machine code of one file.
type Code struct {
	SASS       []Target // by capability, then suffix
	PTX        []Target // likewise
	Containers int      // in the whole file
	Groups     []Group  // in the order of the file

	oldest map[int]int // by the oldest SASS of its generation that they have, without a suffix: how many containers
}

// Target is one architecture that a file holds code for.
type Target struct {
	Arch       int    // 90 is compute capability 9.0, 120 is 12.0
	Suffix     string // "a": exactly this capability; "f": its family; "": none
	PTXVersion string // newest PTX ISA among the target's entries, e.g. "8.7"; empty for SASS
	Zstd       bool   // some entry is compressed with zstd, which drivers before CUDA 12.4 cannot read
	Containers int    // how many of the file's containers have an entry for it
}

// String gives the target as nvcc's -code option spells it: "sm_90a", or "compute_90" for PTX.
func (t Target) String() string {
	return target{t.PTXVersion != "", uint32(t.Arch), t.Suffix}.String()
}

// Read lists the targets of all fat-binary entries in the ELF file of the given size in bytes behind r, which it
// reads from several goroutines. Of a file with a section that nvcc makes the other data are searched too; one without
// gives an empty Code and no error. With an error, which names offsets but not the file, Code holds what could be
// listed before the damage: true, but maybe not all.
func Read(r io.ReaderAt, size int64) (Code, error) {
	w := &walker{window: window{r: r, size: size, spent: new(spent)}}
	sections, err := w.sections()
	if err != nil {
		return Code{}, err
	}
	for _, s := range sectionsOfRole(sections, fatbin) {
		if e := w.row(s); err == nil {
			err = e
		}
	}
	if len(sectionsOfRole(sections, fatbin))+len(sectionsOfRole(sections, pointers)) > 0 {
		err = cmp.Or(err, w.search(sectionsOfRole(sections, data)))
	}
	list, e := w.list()
	return count(list), cmp.Or(e, err)
}

// sectionsOfRole returns the sections of a role.
func sectionsOfRole(list []section, role role) []section {
	return slices.DeleteFunc(slices.Clone(list), func(s section) bool { return s.role != role })
}

// count sums up what the containers hold.
func count(list []listing) Code {
	all := tallies{}
	for i, l := range list {
		all.add(l.entries, i+1)
	}
	code := Code{Containers: len(list), Groups: groups(list), oldest: oldest(list)}
	code.SASS, code.PTX = all.targets()
	return code
}

// Shares for [Code.Common], from real libraries; TestCommon has their numbers.
const (
	// BuildList is the share that selects what a framework was built for as a whole: the flags that torch 1.13.1, 2.8.0
	// and 2.14.1 return from get_arch_list(), and torch_cuda_arch_list of vLLM 0.11.0's docker/Dockerfile. The other
	// targets belong to special kernels (sm_90a in both) or are accidents (compute_52, nvcc's default, in one kernel of
	// vLLM).
	BuildList = 0.5

	// ServedKernels is a share that omits only the targets of a handful of kernels. Most kernels of cuBLASLt 12.8 and
	// cuDNN 9.10 are for newer GPUs, so a fully supported target falls below BuildList there: sm_61 is 17 times rarer
	// in cuBLASLt than sm_120. A target below this share has no general code in the file.
	ServedKernels = 0.05
)

// Common omits the targets in fewer containers than this share of the most frequent target's, except those of a group.
// A remaining target was meant for the whole library, or for a section of it.
func (c Code) Common(share float64) Code {
	least := share * c.measure()
	rare := func(t Target) bool { return float64(t.Containers) < least && !c.hasGroup(t) && !c.together(t, least) }
	c.SASS = slices.DeleteFunc(slices.Clone(c.SASS), rare)
	c.PTX = slices.DeleteFunc(slices.Clone(c.PTX), rare)
	return c
}

// together reports whether a target also runs the code of older targets of its generation, and is frequent together
// with them although none is alone. libtorch_cuda.so 1.7.1 has sm_37 in 479 of 1053 containers and sm_35 in 459 others,
// so a K80 (3.7) finds its code in 938.
func (c Code) together(t Target, least float64) bool {
	runs := 0
	for _, o := range c.SASS {
		if o.Suffix != "" || o.Arch/10 != t.Arch/10 || o.Arch > t.Arch {
			continue
		}
		if o.Arch < t.Arch && float64(o.Containers) >= least {
			return false
		}
		runs += c.oldest[o.Arch]
	}
	return t.PTXVersion == "" && t.Suffix == "" && float64(runs) >= least
}

// plainShare is the share from which on targets without a suffix are the measure; below it they are accidents.
const plainShare = 0.25

// measure returns the number of containers of the most frequent target. Kernels for a single GPU, such as CUTLASS's for
// sm_90a, have containers of their own and can outnumber the general ones: in ONNX Runtime 1.31.1 there are 600 with
// sm_90a, 308 with sm_80 and 217 with sm_75. So targets without a suffix take precedence.
func (c Code) measure() float64 {
	most, plain := 0, 0
	for _, t := range slices.Concat(c.SASS, c.PTX) {
		most = max(most, t.Containers)
		if t.Suffix == "" {
			plain = max(plain, t.Containers)
		}
	}
	if float64(plain) >= plainShare*float64(most) {
		most = plain
	}
	return float64(most)
}
