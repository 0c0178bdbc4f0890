// Package model combines facts, a target and the tables into what is judged. It adds the builds, the environments and
// the packages that files name to the machine of package hardware, and answers questions about them. Package rules
// decides what is wrong.
package model

import (
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Machine is the subject of all rules: the hardware with its driver, the builds on it, and what the tables know about
// both.
type Machine struct {
	hardware.Machine
	Released     map[string][]version.Number // by framework: what releases looked up
	rows         map[string][]Row            // by framework: what FrameworkRows looked up
	Memo         *Memo                       // lists of rows that several builds ask for
	environments map[*facts.Environment]*Environment
	Builds       []*Build     // in the order of the facts
	Requested    []*Requested // packages that files name and that have to do with a GPU
	Beside       []*Machine   // the other targets of the same judgement, without builds
}

// NewMachine combines facts, tables and a target, whose values replace those of the facts.
func NewMachine(t *tables.Tables, f *facts.Facts, target hardware.Target, policy verdict.Policy) *Machine {
	m := &Machine{Machine: *hardware.NewMachine(t, f, target, policy), Memo: &Memo{},
		environments: map[*facts.Environment]*Environment{},
		Released:     map[string][]version.Number{}, rows: map[string][]Row{}}
	standing := StandingOf(t, m.Facts)
	for i := range m.Facts.Environments {
		env := m.Environment(&m.Facts.Environments[i])
		for j := range m.Facts.Environments[i].Builds {
			b := &m.Facts.Environments[i].Builds[j]
			if v := newBuild(m, env, b, standing(&m.Facts.Environments[i]), nil); !v.soundTriton() {
				m.Builds = append(m.Builds, v)
			}
		}
	}
	m.layPrograms()
	m.addRequested(standing)
	return m
}

// On returns the machine with another driver. Pass the first number of a branch, because a bare branch would mean its
// newest release (Product.Unlisted).
func (m *Machine) On(v version.Number) *Machine {
	at := *m
	at.Memo = &Memo{}
	at.ReplaceDriver(v)
	return &at
}
