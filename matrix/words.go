package matrix

import (
	"fmt"
	"regexp"
	"strings"
)

// words are the forms of cells that rules compare as words: what is misspelt there would mean "no" to them.
var words = map[string]*regexp.Regexp{
	"sass":           regexp.MustCompile(`^sm_\d{2,3}[af]?$`),
	"ptx":            regexp.MustCompile(`^(none|compute_\d{2,3}[af]?)$`),
	"python":         regexp.MustCompile(`^(3\.\d+t?|[<>=!]=?3[.\d]*(,[<>=!]=?3[.\d]*)*)$`),
	"platform":       regexp.MustCompile(`^(linux_x86_64|linux_aarch64|win_amd64)$`),
	"pci_ids":        regexp.MustCompile(`^[0-9a-f]{4}$`),
	"kind":           regexp.MustCompile(`^(data-centre|rtx|geforce|integrated|tegra)$`),
	"open_module":    regexp.MustCompile(`^(required|supported|unsupported)$`),
	"module":         regexp.MustCompile(`^(proprietary|both|open)$`),
	"type":           regexp.MustCompile(`^(LTS|PB|NFB)$`),
	"blame":          regexp.MustCompile(`^(program|environment|hardware|unknown)$`),
	"fraction":       regexp.MustCompile(`^1/\d+$`),
	"nvswitch":       yesOrNo,
	"fabric_manager": yesOrNo,
	"nvlsm":          yesOrNo,
	"imex":           yesOrNo,
	"grid":           yesOrNo,
	"xen":            yesOrNo,
	"efa":            yesOrNo,
	"alone":          yesOrNo,
	"released":       isoDate,
	"first_release":  isoDate,
	"end_of_life":    isoDate,
}

var yesOrNo = regexp.MustCompile(`^(yes|no)$`)

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
