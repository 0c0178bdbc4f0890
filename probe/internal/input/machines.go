package input

import (
	"errors"
	"slices"
	"strings"

	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/factsjson"
	"cudacompat/probe/internal/input/paste"
	"cudacompat/probe/internal/input/piplist"
)

// pastedFormats lists the formats that people paste together, and those of several machines in one text.
var pastedFormats = []string{"nvidia-smi", "an error of nvidia-smi", "pip list", "collect_env report"}

// IsPaste reports whether a document is of a kind that people paste into a bug report, where an error may be beside the
// description of the machine.
func IsPaste(d Document) bool {
	r := d.Recognise(formats)
	if r.Err == nil && r.Format.Name == "pip list" && piplist.OnlyRows(document.Document{Data: r.Data}) {
		return false
	}
	return r.Err == nil && (slices.Contains(pastedFormats, r.Format.Name) || strings.HasPrefix(r.Format.Name, "nvidia-smi"))
}

// factsFormat is the name of the format of what this program writes.
const factsFormat = "facts or a report from cudacompat"

// maxReported bounds the machines of a report: more files than anybody checks together.
const maxReported = 1000

// documentsOf returns a document for each part of a document.
func documentsOf(d Document, parts [][]byte) []Document {
	list := make([]Document, len(parts))
	for i, data := range parts {
		list[i] = d
		list[i].Data = data
	}
	return list
}

// Machines divides what people paste, and a report about several machines, into one document for each machine. A paste loses
// the marks of its headings. Any other document stays whole, and so does a paste of too many machines, which is not read.
func Machines(d Document) []Document {
	pasted := func(r document.Recognised) bool { return r.Err == nil && slices.Contains(pastedFormats, r.Format.Name) }
	r := d.Recognise(formats)
	if r.Err == nil && r.Format.Name == factsFormat && r.Format.Most(r.Data) == nil {
		if list := factsjson.Divide(r.Data); len(list) > 1 && len(list) <= maxReported {
			return documentsOf(d, list)
		}
	}
	if !pasted(r) && !errors.Is(r.Err, ErrForeign) {
		return []Document{d.Remember(r)}
	}
	d.Data = paste.StripMarkdown(r.Data)
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
