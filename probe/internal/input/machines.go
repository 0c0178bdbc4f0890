package input

import (
	"errors"
	"slices"
	"strings"

	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/paste"
)

// pastedFormats are the formats that people paste one beside the other, and those of several machines into one text.
var pastedFormats = []string{"nvidia-smi", "an error of nvidia-smi", "pip list", "collect_env report"}

// IsPaste reports whether a document is read as people paste it into a bug report, where an error may stand beside what
// describes the machine.
func IsPaste(d Document) bool {
	r := d.Recognise(formats)
	return r.Err == nil && (slices.Contains(pastedFormats, r.Format.Name) || strings.HasPrefix(r.Format.Name, "nvidia-smi"))
}

// Machines divides what people paste into one document for each machine that it describes, without the marks of
// headings; any other document stays whole. So does one of too many machines, which is not read.
func Machines(d Document) []Document {
	pasted := func(r document.Recognised) bool { return r.Err == nil && slices.Contains(pastedFormats, r.Format.Name) }
	r := d.Recognise(formats)
	if !pasted(r) && !errors.Is(r.Err, ErrForeign) {
		return []Document{d.Remember(r)}
	}
	d.Data = paste.StripHeadings(r.Data)
	if r = d.Recognise(formats); !pasted(r) {
		return []Document{d.Remember(r)}
	}
	texts, ok := paste.Divide(string(r.Data))
	if len(texts) < 2 || !ok {
		return []Document{d.Remember(r)}
	}
	list, lines := make([]Document, len(texts)), 0
	for i, text := range texts {
		list[i] = d
		list[i].Data, list[i].Above = []byte(text), lines
		lines += strings.Count(text, "\n")
	}
	return list
}
