package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"

	"go.yaml.in/yaml/v4"
)

// Settings are the checked values of a configuration file.
type Settings struct {
	Source  File
	Require []string // nil where the caller gave the flag
	FailOn  string   // empty where the caller gave the flag
	Waivers []verdict.Waiver
	lines   []int // of each waiver
	Promise Promise
}

// Promise lists what a repository says that its software supports.
type Promise struct {
	Driver                     string
	GPUs, Instances, Platforms []string
}

// IsEmpty reports whether nothing is promised.
func (p Promise) IsEmpty() bool {
	return p.Driver == "" && len(p.GPUs)+len(p.Instances)+len(p.Platforms) == 0
}

// Hint says how to name another configuration.
const Hint = "--config FILE and $CUDACOMPAT_CONFIG name another"

// Read reads and parses the named configuration, or the one that is found.
func Read(named string) (Settings, error) {
	file, err := Find(named)
	if err != nil {
		return Settings{}, &usage.Error{Message: err.Error(), Hint: Hint}
	}
	c, err := parse(file.Name, file.Data)
	if c.Source = file; err != nil {
		return Settings{}, hideText(file, err)
	}
	return c, nil
}

// hideText removes the text of a configuration that nobody named from its error, because the file may be a link to a
// secret.
func hideText(file File, err error) error {
	if file.Named {
		return err
	}
	place := fmt.Sprintf("%q", file.Name)
	if wrong := new(lineError); errors.As(err, &wrong) {
		place += fmt.Sprintf(", line %d", wrong.line)
	}
	return &usage.Error{Message: place + ": this is not a configuration that can be obeyed", Hint: "--config " + pin.Quoted(file.Name) + " says what is wrong with it"}
}

// DescribeEffect says how the configuration changed a result, or returns nil. changesCode says whether its fail-on changed the
// exit code.
func (c Settings) DescribeEffect(v verdict.Verdict, changesCode bool) *Effect {
	if c.Source.Name == "" && len(c.Source.Ignored) == 0 {
		return nil
	}
	e := &Effect{File: c.Source.Name, Named: c.Source.Named, Changed: []string{},
		Ignored: append([]Ignored{}, c.Source.Ignored...)}
	if changesCode {
		e.Changed = append(e.Changed, "fail-on: "+c.FailOn)
	}
	if len(c.Require) > 0 && v.Outcome != verdict.Compatible {
		e.Changed = append(e.Changed, "require: "+strings.Join(c.Require, " "))
	}
	for _, use := range v.Waivers[len(v.Waivers)-len(c.Waivers):] { // those of --ignore stand before them
		word := "waived " + use.Rule
		if use.Matched > 0 && !use.Expired && !slices.Contains(e.Changed, word) {
			e.Changed = append(e.Changed, word)
		}
	}
	return e
}

// parse parses a configuration strictly. It takes scalars as written: 12.10 is not a number here, and 2027-01-31
// not a date.
func parse(name string, data []byte) (Settings, error) {
	var c Settings
	doc := yamlDocument{name}
	root, err := doc.parseRoot(data)
	if err != nil || root == nil {
		return c, err
	}
	version := ""
	err = doc.parseMapping(root, map[string]func(*yaml.Node) error{
		"version": func(n *yaml.Node) error { return doc.parseWord(n, &version, "version", []string{"1"}) },
		"require": func(n *yaml.Node) error {
			return doc.parseList(n, func(n *yaml.Node) error {
				var word string
				err := doc.parseWord(n, &word, "requirement", matrix.Requirements())
				c.Require = append(c.Require, word)
				return err
			})
		},
		"fail-on": func(n *yaml.Node) error { return doc.parseWord(n, &c.FailOn, "severity for fail-on", FailOnValues) },
		"ignore": func(n *yaml.Node) error {
			return doc.parseList(n, func(n *yaml.Node) error { return c.parseWaiver(doc, n) })
		},
		"supports": func(n *yaml.Node) error { return c.Promise.parse(doc, n) },
	})
	if err == nil && version == "" {
		err = doc.reject(root, "the version of this file's form is missing", "begin with version: 1")
	}
	return c, err
}

// parse reads what is promised:
//
//	supports: {driver: "525.60.13", gpus: [V100, T4, "8.0"], instances: [g4dn.xlarge], platforms: [linux_x86_64]}
func (p *Promise) parse(doc yamlDocument, n *yaml.Node) error {
	words := func(to *[]string, known []string) func(*yaml.Node) error {
		return func(n *yaml.Node) error {
			return doc.parseList(n, func(n *yaml.Node) error {
				var word string
				err := doc.parseText(n, &word)
				if known != nil && err == nil {
					err = doc.parseWord(n, &word, "platform", known)
				}
				*to = append(*to, word)
				return err
			})
		}
	}
	err := doc.parseMapping(n, map[string]func(*yaml.Node) error{
		"driver":    func(n *yaml.Node) error { return doc.parseText(n, &p.Driver) },
		"gpus":      words(&p.GPUs, nil),
		"instances": words(&p.Instances, nil),
		"platforms": words(&p.Platforms, matrix.Platforms()),
	})
	if err == nil && p.IsEmpty() {
		err = doc.reject(n, "supports promises nothing", "name a driver, gpus, instances or platforms")
	}
	return err
}

// longestMatch limits the match text of a waiver, in bytes, because each * in it costs memory when compiled.
const longestMatch = 1000

// parseWaiver parses one entry of ignore.
func (c *Settings) parseWaiver(doc yamlDocument, n *yaml.Node) error {
	w := verdict.Waiver{Match: map[string]string{}}
	err := doc.parseMapping(n, map[string]func(*yaml.Node) error{
		"rule":   func(n *yaml.Node) error { return doc.parseWord(n, &w.Rule, "rule", matrix.RuleIDs()) },
		"reason": func(n *yaml.Node) error { return doc.parseText(n, &w.Reason) },
		"until":  func(n *yaml.Node) error { return doc.parseDate(n, &w.Until) },
		"match": func(n *yaml.Node) error {
			return doc.parsePairs(n, func(key, value *yaml.Node) error {
				var glob string
				err := doc.parseText(value, &glob)
				if err == nil && len(glob) > longestMatch {
					err = doc.reject(value, fmt.Sprintf("the text to match for %s has %d bytes", key.Value, len(glob)),
						fmt.Sprintf("write at most %d; * stands for any text", longestMatch))
				}
				w.Match[key.Value] = glob
				return err
			})
		},
	})
	switch {
	case err != nil:
		return err
	case w.Rule == "":
		return doc.reject(n, "a waiver names no rule", "rule: one of "+usage.JoinWords(matrix.RuleIDs()))
	case strings.TrimSpace(w.Reason) == "":
		return doc.reject(n, "the waiver of "+w.Rule+" has no reason", `reason: "who decided it and why"`)
	}
	c.Waivers, c.lines = append(c.Waivers, w), append(c.lines, n.Line)
	return nil
}

// parseDate returns the last day of a waiver.
func (d yamlDocument) parseDate(n *yaml.Node, day *string) error {
	if err := d.parseText(n, day); err != nil {
		return err
	}
	if _, err := time.Parse(time.DateOnly, *day); err != nil {
		return d.reject(n, fmt.Sprintf("%q is not a date", *day), "write the year, the month and the day: 2027-01-31")
	}
	return nil
}

// ListUnmatched returns a remark about each waiver of the file that matches nothing here.
func (c Settings) ListUnmatched(v verdict.Verdict) (remarks []usage.Error) {
	uses := v.Waivers[len(v.Waivers)-len(c.Waivers):] // those of --ignore stand before them
	for i, use := range uses {
		if use.Matched == 0 {
			remarks = append(remarks, usage.Error{
				Message: fmt.Sprintf("%q, line %d: the waiver of %s matched nothing", c.Source.Name, c.lines[i], use.Rule),
				Hint:    adviseOnUnmatched(use.Waiver, listFindings(use.Rule, v))})
		}
	}
	return remarks
}

// listFindings returns all findings of a rule, including waived ones.
func listFindings(rule string, v verdict.Verdict) []verdict.Finding {
	all := slices.Clone(v.Findings)
	for _, s := range v.Suppressed {
		all = append(all, s.Finding)
	}
	return slices.DeleteFunc(all, func(f verdict.Finding) bool { return f.Rule != rule })
}

// adviseOnUnmatched says what to do about a waiver that matches none of its rule's findings.
func adviseOnUnmatched(w verdict.Waiver, findings []verdict.Finding) string {
	if len(findings) == 0 {
		return "take it out"
	}
	known := []string{"subject", "target"}
	for _, f := range findings {
		for _, e := range f.Evidence {
			known = append(known, e.Fact)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.Match)) {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, key) }) {
			return fmt.Sprintf("no finding of the rule has %q to match; %s", key, usage.Suggest(key, known))
		}
	}
	return "the rule has findings, but none that its match is true of; compare it with their evidence in -o json"
}

var FailOnValues = []string{"error", "warning", "never"}
