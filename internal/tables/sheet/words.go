package sheet

import (
	"fmt"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/version"
)

// words are the forms of cells that rules compare as words: what is misspelt there would mean "no" to them.
var words = map[string]*lazyregexp.Regexp{
	"sass":           lazyregexp.New(`^sm_\d{2,3}[af]?$`),
	"ptx":            lazyregexp.New(`^(none|compute_\d{2,3}[af]?)$`),
	"groups":         version.GroupText,
	"python":         lazyregexp.New(`^(3\.\d+t?|[<>=!]=?3[.\d]*(,[<>=!]=?3[.\d]*)*)$`),
	"platform":       lazyregexp.New(`^(linux_x86_64|linux_aarch64|win_amd64)$`),
	"cxx11_abi":      lazyregexp.New(`^(true|false)$`),
	"symbols":        lazyregexp.New(`^(none|\d+)$`),
	"links":          lazyregexp.New(`^(none|lib[\w+-]+\.so(\.\d+)*)$`),
	"opens":          lazyregexp.New(`^(none|lib[\w+-]+\.so(\.\d+)*)$`),
	"pci_ids":        lazyregexp.New(`^[0-9a-f]{4}$`),
	"pci_id":         lazyregexp.New(`^[0-9a-f]{4}$`),
	"listed":         lazyregexp.New(`^(none|>?\d{3}(\.\d+){1,2})$`),
	"noted":          lazyregexp.New(`^(\d{3}(\.\d+){1,2}|\?\d{3}(\.\d+){0,2})$`),
	"developer_beta": lazyregexp.New(`^\d{3}\.\d+$`),
	"vgpu":           lazyregexp.New(`^(none|\d+)$`),
	"kind":           lazyregexp.New(`^(data-centre|rtx|geforce|integrated|tegra)$`),
	"open_module":    lazyregexp.New(`^(required|supported|unsupported)$`),
	"module":         lazyregexp.New(`^(proprietary|both|open)$`),
	"type":           lazyregexp.New(`^(LTS|PB|NFB)$`),
	"blame":          lazyregexp.New(`^(program|environment|hardware|none|unknown)$`),
	"trait": lazyregexp.New(`^(pins-torch|brought-by-engine|compiled|dispensable|companion|compiled-when-used|stable-abi|` +
		`same-cuda-minor|before-numpy-2|before-protobuf-4|cuda-from-wheels|nvrtc-fails|same-files|windows-cuda|no-windows-wheel|` +
		`skips-libraries|own-cuda|only-kernels|least-\d+\.\d)$`),
	"statuses":       lazyregexp.New(`^[a-z]+:\d+$`),
	"cloud":          lazyregexp.New(`^(azure|coreweave|gcp|lambda|oci)$`),
	"fraction":       lazyregexp.New(`^1/\d+$`),
	"nvswitch":       yesOrNo,
	"fabric_manager": yesOrNo,
	"nvlsm":          yesOrNo,
	"imex":           yesOrNo,
	"grid":           yesOrNo,
	"xen":            yesOrNo,
	"efa":            yesOrNo,
	"alone":          yesOrNo,
	"released":       isoDate,
	"review":         isoDate,
	"first_release":  isoDate,
	"end_of_life":    isoDate,
}

var yesOrNo = lazyregexp.New(`^(yes|no)$`)

// checkWords compares every word of a cell with its column's form.
func checkWords(column, cell string) error {
	form := words[column]
	if form == nil {
		return nil
	}
	for word := range strings.FieldsSeq(cell) {
		if !form.MatchString(word) {
			return fmt.Errorf("%q is not of the form %s", word, form)
		}
	}
	return nil
}
