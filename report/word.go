package report

import (
	"cmp"
	"fmt"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/triage"
)

// Known is what the tables know of a word that somebody saw in a log.
type Known struct {
	Word     string
	Statuses []tables.Status
	Xid      *tables.Xid
	Library  *tables.Library
}

// Word is the page of a code, a name or a library, in Markdown; nil when nothing is known of it.
func Word(k Known) []byte {
	if len(k.Statuses) == 0 && k.Xid == nil && k.Library == nil {
		return nil
	}
	p := &page{}
	p.line("# ", k.Word)
	for _, status := range k.Statuses {
		p.status(status)
	}
	if x := k.Xid; x != nil {
		p.line()
		p.line(fmt.Sprintf("## Xid %d, in the kernel log", x.Xid))
		p.line()
		p.wrap(0, x.Meaning+". "+fault(triage.Blame(x.Blame)))
		p.line()
		p.line("What the vendor advises: ", strings.ReplaceAll(cmp.Or(x.Action, "nothing"), "-", " "))
		p.origin(x.Origin)
	}
	if l := k.Library; l != nil {
		p.line()
		p.wrap(0, fmt.Sprintf("A part of %s; it comes with CUDA %s.", l.Library, strings.Join(l.CUDA, ", ")))
		p.line()
		for _, pip := range l.Pip {
			p.line("    pip install ", pip)
		}
		p.origin(l.Origin)
	}
	return p.Bytes()
}

// status says what a value of an API means, and where the cause's page is.
func (p *page) status(s tables.Status) {
	p.line()
	p.line(fmt.Sprintf("## %s (%s %d)", s.Name, s.API, s.Code))
	p.line()
	meaning := cmp.Or(s.Meaning, s.Text, "its name says all that is known of it here")
	p.wrap(0, capital(meaning)+". "+fault(triage.Blame(s.Blame)))
	if s.Text != "" && s.Meaning != "" {
		p.line()
		p.line("In the library's own words: ", s.Text)
	}
	if s.Cause != "" {
		p.line()
		p.line("more  cudacompat explain ", s.Cause)
	}
	p.origin(s.Origin)
}

// capital begins a sentence, but not with another name than a library has: cuBLAS.
func capital(text string) string {
	first, _, _ := strings.Cut(text, " ")
	if strings.ToLower(first) != first {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// fault says in a sentence on which side a fault mostly lies.
func fault(b triage.Blame) string {
	switch b {
	case triage.Environment, triage.Program:
		return "Usually the fault of the " + string(b) + "."
	case triage.Hardware:
		return "Mostly a fault of the hardware."
	case triage.Unknown:
		return "The code does not tell whose fault it is; the rest of the log may."
	}
	return ""
}

func (p *page) origin(o tables.Origin) {
	p.line()
	for _, source := range o.Source {
		p.line("- ", source)
	}
}
