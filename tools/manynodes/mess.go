package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// mess makes a fleet as real ones are, beside its faults: 40 kernels, 900 environments of users, one document in ten
// three days old, one in ten cut short, twenty clocks ahead.
func (p *pool) mess(t truth) {
	for i := range p.n {
		if t.bad[i] != nil || p.changes[i] != nil {
			continue
		}
		switch i % 10 {
		case 3:
			t.bad[i] = func(line []byte) []byte { return line[:len(line)*(i%7+1)/9] }
		case 6:
			t.stale[nodeName(i)] = true
		}
		p.changes[i] = func(d *document) {
			d.Facts.System.Kernel = fmt.Sprintf("6.8.0-%d-generic", 40+i%40)
			m := &d.Facts.Driver.Modules[0]
			m.Kernel, m.Path = d.Facts.System.Kernel, strings.Replace(m.Path, m.Kernel, d.Facts.System.Kernel, 1)
			data := strings.NewReplacer("/opt/venv", fmt.Sprintf("/home/u%d/venv", i%900))
			e := &d.Facts.Environments[0]
			e.Path = data.Replace(e.Path)
			for n := range e.Builds {
				b := &e.Builds[n]
				b.Path, b.From = data.Replace(b.Path), data.Replace(b.From)
				for k := range b.Taken {
					b.Taken[k].Path, b.Taken[k].Reason = data.Replace(b.Taken[k].Path), data.Replace(b.Taken[k].Reason)
				}
			}
			for n := range e.Packages {
				e.Packages[n].Path = data.Replace(e.Packages[n].Path)
			}
			if i%10 == 6 {
				d.Taken = "2026-11-19T12:00:00Z"
			}
			if i%10 == 6 && i < 200 {
				d.Taken = "2036-11-19T12:00:00Z"
			}
		}
	}
}

// screen reads the text report of a file: it has at most 200 lines, and every node of the JSON is in one group.
func screen(tool, file string, got fleetReport, t truth) (string, []string) {
	var wrong []string
	text, _ := exec.Command(tool, "fleet", file).Output() // the code is the outcome
	lines := bytes.Count(text, []byte("\n"))
	if lines >= 200 || lines == 0 {
		wrong = append(wrong, fmt.Sprintf("the text report has %d lines", lines))
	}
	in, judged := map[string]int{}, 0
	for _, g := range got.Groups {
		for _, n := range g.Nodes {
			in[n]++
		}
	}
	for _, k := range got.Kinds {
		for _, n := range k.Nodes {
			if judged++; in[n.Node] != 1 {
				wrong = append(wrong, fmt.Sprintf("%s is in %d groups", n.Node, in[n.Node]))
			}
		}
	}
	if judged != len(in) || judged != got.Nodes {
		wrong = append(wrong, fmt.Sprintf("%d nodes, %d in groups, %d in kinds", got.Nodes, len(in), judged))
	}
	named := 0
	for _, u := range got.Unread {
		if u.Node != "" {
			named++
		}
	}
	if file := os.Getenv("SCREEN"); file != "" {
		_ = os.WriteFile(file, text, 0o644)
	}
	return fmt.Sprintf("%d lines, %d groups; %d of %d unread documents name their node", lines, len(got.Groups), named,
		len(t.bad)), wrong
}
