package site

import (
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

// families lists one GPU for each group with equal answers, for the table that is shown before anything is typed.
var families = []struct{ gpu, words string }{
	{"GTX 980", "GTX 9xx (Maxwell)"}, {"P100", "P100, GTX 10xx (Pascal)"}, {"V100", "V100 (Volta)"}, {"T4", "T4, RTX 20xx (Turing)"},
	{"A100", "A100 (Ampere)"}, {"A10G", "A10G, RTX 30xx (Ampere)"}, {"L4", "L4, L40S, RTX 40xx (Ada)"}, {"H100", "H100, H200 (Hopper)"},
	{"GH200 480GB", "GH200 (Arm)"}, {"B200", "B200 (Blackwell)"}, {"RTX 5090", "RTX 50xx (Blackwell)"}, {"GB200", "GB200 (Arm)"}, {"GB10", "GB10, DGX Spark (Arm)"},
}

// bandRow is a line of that table: GPUs, and the newest release from a driver on.
type bandRow struct {
	GPUs  []string   `json:"gpus"`
	Bands []bandCell `json:"bands"`
}

// bandCell is one release, from a driver on.
type bandCell struct {
	From    string `json:"from"`
	Version string `json:"version"`
	Text    string `json:"text,omitempty"` // where it is something else
}

// wantTable is one table, of one framework.
type wantTable struct {
	Want string    `json:"want"`
	Head string    `json:"-"` // of its first column
	Rows []bandRow `json:"rows"`
}

type answerBody struct {
	Tables   []wantTable
	Python   string
	Branches []pageBranch
}

// answers writes the data and the start page.
func (b *builder) answers() error {
	all := spaces(b.Context, b.Tables, facts.System{}, b.Wants, defaultPython)
	if err := b.Context.Err(); err != nil {
		return err
	}
	b.spaces, b.data = all, encode(b.Tables, all, defaultPython, false)
	b.data.Pythons = b.Pythons
	if err := b.writeJSON("assets/space.json", b.data); err != nil {
		return err
	}
	windows := facts.System{OS: facts.Windows}
	if err := b.writeJSON("assets/space-windows.json", encode(b.Tables, spaces(b.Context, b.Tables, windows, b.Wants, defaultPython), defaultPython, true)); err != nil {
		return err
	}
	for _, python := range b.Pythons {
		if err := b.writeJSON("assets/space-"+python+".json", encode(b.Tables, spaces(b.Context, b.Tables, facts.System{}, b.Wants, python), python, false)); err != nil {
			return err
		}
	}
	body := answerBody{Python: defaultPython, Branches: b.data.Branches}
	for _, want := range b.Wants {
		body.Tables = append(body.Tables, wantTable{Want: want, Rows: b.bandRows(all[want])})
	}
	b.listed("Which build runs on my driver and GPU?", "", "answer start pins")
	return b.page("answer", page{Title: "Which build runs on my driver and GPU?", Scripts: []string{"lookup.js", "answer.js"},
		Description: "The newest PyTorch, TensorFlow, JAX, vLLM and SGLang for an NVIDIA driver and GPU, with the command that installs it.",
		Body:        body})
}

// bandRows returns the newest releases by driver, families that have the same in one row.
func (b *builder) bandRows(s pin.Space) []bandRow {
	var rows []bandRow
	for _, f := range families {
		g := groupOf(b.Tables, s, f.gpu)
		if g == nil {
			continue
		}
		cells := bandCells(s, g)
		if last := len(rows) - 1; last >= 0 && slices.Equal(rows[last].Bands, cells) {
			rows[last].GPUs = append(rows[last].GPUs, f.words)
			continue
		}
		rows = append(rows, bandRow{[]string{f.words}, cells})
	}
	return rows
}

// bandCells returns what keeps the driver, from a driver on.
func bandCells(s pin.Space, g *pin.HostGroup) []bandCell {
	var cells []bandCell
	for _, band := range g.Bands {
		release := ""
		for _, set := range s.Answers[band.Answer].Sets {
			if set.Choice == pin.KeepDriver {
				release = set.Packages[0].Version
			}
		}
		last := len(cells) - 1
		switch {
		case release == "" && last < 0, last >= 0 && cells[last].Version == release:
		default:
			cells = append(cells, bandCell{From: fromWords(band.From, release == ""), Version: release})
		}
	}
	return cells
}

// fromWords returns where a band begins, for people: "580+" for the branch, "525.60.13+", "after 580" where all ends.
func fromWords(from string, ends bool) string {
	if from == "" {
		return "any driver"
	}
	branch, rest, _ := strings.Cut(from, ".")
	switch {
	case strings.Trim(rest, "0.") != "":
		return from + "+"
	case ends && version.Int(branch)%5 == 1: // the number after a branch's
		return "after " + strconv.Itoa(version.Int(branch)-1)
	}
	return branch + "+"
}

// Words returns a cell in words: "580+ → 2.15.0+cu132".
func (c bandCell) Words() string {
	switch {
	case c.Text != "":
		return c.From + ": " + c.Text
	case c.Version == "":
		return c.From + " → none"
	}
	return c.From + " → " + c.Version
}
