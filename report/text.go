package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"cudacompat/matrix"
)

// Text writes the report for people: the verdict first, one line a build, findings as short paragraphs, the count
// last.
func Text(w io.Writer, r Report, s Style) error {
	p := &page{style: s}
	p.line("%s", p.headline(r))
	if err := p.table(r); err != nil {
		return err
	}
	for _, f := range r.Findings {
		p.finding(f)
	}
	p.nothing(r)
	p.unknowns(r)
	p.rest(r)
	p.line("")
	p.line("%s", counts(r))
	_, err := w.Write(p.Bytes())
	return err
}

// page is a screen in the making.
type page struct {
	bytes.Buffer
	style Style
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// headline is the verdict in one sentence.
func (p *page) headline(r Report) string {
	switch r.Outcome {
	case matrix.Incompatible:
		return p.paint("31;1", "incompatible") + ": " + clean(firstOf(r.Findings, matrix.Error).Message)
	case matrix.Inconclusive:
		return p.paint("33;1", "inconclusive") + ": " + inconclusive(r)
	}
	return p.paint("32;1", "compatible") + ": " + compatible(r)
}

func inconclusive(r Report) string {
	if len(r.Facts.GPUs) == 0 && len(r.Unknown) == 0 {
		return "there is nothing to compare"
	}
	if len(r.Unknown) > 0 {
		return clean(fmt.Sprintf("%s cannot be judged without %s", r.Unknown[0].Subject, r.Unknown[0].Missing))
	}
	return "no CUDA build was found, and no driver and GPU to compare"
}

func compatible(r Report) string {
	n := 0
	for _, a := range r.Answers {
		if a.Answer == matrix.Works || a.Answer == matrix.WorksMinorVersion || a.Answer == matrix.WorksForward {
			n++
		}
	}
	if n == 0 {
		return "driver and GPU go together"
	}
	return plural(n, "build") + " will run here"
}

var marks = map[matrix.Severity][3]string{ // mark, its ASCII twin, colour
	matrix.Error:   {"×", "x", "31;1"},
	matrix.Warning: {"‼", "!", "33;1"},
	matrix.Note:    {"·", "-", "36"},
}

// finding writes one paragraph: cause, need, evidence, pins, steps, where to read on. Notes stay short without --all.
func (p *page) finding(f matrix.Finding) {
	mark := marks[f.Severity]
	p.line("")
	subject := f.Subject
	if f.Target != "" {
		subject += " on " + f.Target
	}
	p.line("%s", p.paint(mark[2], p.mark(mark)+" "+f.Rule)+": "+clean(subject))
	p.wrap("    ", "    ", f.Message)
	if f.Severity == matrix.Note && !p.style.All {
		return
	}
	if f.Need != "" {
		p.field("needs", f.Need)
	}
	for _, e := range f.Evidence {
		p.field("seen", fmt.Sprintf("%s %s (%s)", e.Fact, e.Value, e.From))
	}
	word := "pin"
	for _, pin := range f.Pins {
		p.pin(word, pin)
		word = "or"
	}
	for _, step := range f.Do {
		p.field("do", step)
	}
	p.field("more", "cudacompat explain "+f.Rule)
}

func (p *page) mark(m [3]string) string {
	if p.style.ASCII {
		return m[1]
	}
	return m[0]
}

// field writes "    name  text", wrapped under the text.
func (p *page) field(name, text string) {
	p.wrap(fmt.Sprintf("    %-5s ", name), "          ", text)
}

// pin writes a version and how to get it; commands stay on one line, to be copied.
func (p *page) pin(word string, pin matrix.Pin) {
	p.field(word, fmt.Sprintf("%s %s: %s", pin.Package, pin.Version, pin.Why))
	for _, tool := range []string{"pip", "uv", "apt", "dnf", "ami"} {
		if command := pin.Commands[tool]; command != "" && (tool != "uv" || p.style.All) {
			if tool == "ami" {
				p.field("", clean(command))
			} else {
				p.line("          %s", p.paint("1", clean(command)))
			}
		}
	}
}

// wrap writes text between a first and a hanging indent, at the style's width.
func (p *page) wrap(first, hang, text string) {
	line, width := first, p.style.Width
	empty := true
	for _, word := range strings.Fields(clean(text)) {
		if !empty && width > 0 && columns(line)+1+columns(word) > width {
			p.line("%s", line)
			line, empty = hang, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	p.line("%s", line)
}

func columns(s string) int { return len([]rune(s)) }

// paint colours text when the style wants it.
func (p *page) paint(code, text string) string {
	if !p.style.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// nothing says what was looked for where there was nothing to compare, and what to try.
func (p *page) nothing(r Report) {
	if r.Outcome != matrix.Inconclusive || len(r.Unknown) > 0 {
		return
	}
	p.line("")
	p.wrap("  ", "  ", "Looked for: a driver (NVML, /proc/driver/nvidia, libcuda.so.1), NVIDIA GPUs (NVML, /sys/bus/pci), "+
		"CUDA toolkits (/usr/local/cuda*), PyTorch, TensorFlow and JAX (the active Python environment, /opt, /usr/local, /home and others).")
	p.line("")
	p.line("  try   cudacompat doctor --instance g5.xlarge --driver 550.90.07")
	p.line("        cudacompat doctor --env PATH")
	p.line("        cudacompat check examples/collect_env/broken.txt")
}

// unknowns lists what could not be judged where that decides the outcome, and always with --all.
func (p *page) unknowns(r Report) {
	if len(r.Unknown) == 0 || r.Outcome != matrix.Inconclusive && !p.style.All {
		return
	}
	p.line("")
	for _, u := range r.Unknown {
		p.wrap("  ? ", "    ", fmt.Sprintf("%s: %s: not known: %s", u.Rule, u.Subject, u.Missing))
	}
}

// rest lists what failed to be read, what is suppressed and, with --all, what passed.
func (p *page) rest(r Report) {
	for _, s := range r.Facts.Probes {
		if s.Status == "failed" {
			p.line("")
			p.wrap("  ! ", "    ", fmt.Sprintf("%s could not be read: %s", s.Name, s.Error))
		}
	}
	for _, s := range r.Suppressed {
		p.line("")
		p.wrap("  ~ ", "    ", fmt.Sprintf("%s: %s: waived: %s", s.Rule, s.Subject, s.Reason))
	}
	if !p.style.All || len(r.Passed) == 0 {
		return
	}
	p.line("")
	for _, passed := range r.Passed {
		p.wrap("  = ", "    ", passed.Rule+": "+passed.Subject)
	}
}

// counts is the last line.
func counts(r Report) string {
	text := fmt.Sprintf("%s, %s, %d unknown, %d passed", plural(r.Count(matrix.Error), "error"), plural(r.Count(matrix.Warning), "warning"), len(r.Unknown), len(r.Passed))
	if n := len(r.Suppressed); n > 0 {
		text += fmt.Sprintf(", %d waived", n)
	}
	if len(r.Passed)+len(r.Unknown)+r.Count(matrix.Note) > 0 {
		text += " (--all shows them)"
	}
	return text
}
