package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/config"
	"cudacompat/internal/output"
	"cudacompat/internal/report"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"

	"go.yaml.in/yaml/v4"
)

// settings are the checked values of a configuration file.
type settings struct {
	source  config.File
	require []string // nil where the caller gave the flag
	failOn  string   // empty where the caller gave the flag
	waivers []verdict.Waiver
	lines   []int // of each waiver
	promise promise
}

// promise lists what a repository says that its software supports.
type promise struct {
	driver                     string
	gpus, instances, platforms []string
}

// isEmpty reports whether nothing is promised.
func (p promise) isEmpty() bool {
	return p.driver == "" && len(p.gpus)+len(p.instances)+len(p.platforms) == 0
}

// configure reads the configuration. The caller's flags take precedence.
func (f *judgeFlags) configure() (settings, error) {
	if inPage {
		return settings{}, nil
	}
	file, err := config.Find(f.namedConfig())
	if err != nil {
		return settings{}, unreadableConfig(err)
	}
	c, err := parseConfig(file.Name, file.Data)
	if c.source = file; err != nil {
		return settings{}, unquoted(file, err)
	}
	if f.given("require") {
		c.require = nil
	} else if c.require != nil {
		f.require = c.require
	}
	if f.given("fail-on") {
		c.failOn = ""
	} else if c.failOn != "" {
		f.failOn = c.failOn
	}
	return c, nil
}

// namedConfig returns the configuration named by the flag or the environment.
func (f *judgeFlags) namedConfig() string { return cmp.Or(f.config, os.Getenv("CUDACOMPAT_CONFIG")) }

func unreadableConfig(err error) error {
	return &usage.Error{Message: err.Error(), Hint: configHint}
}

const configHint = "--config FILE and $CUDACOMPAT_CONFIG name another"

// unquoted removes the text of a configuration that nobody named from its error, because the file may be a link to a
// secret.
func unquoted(file config.File, err error) error {
	if file.Named {
		return err
	}
	place := fmt.Sprintf("%q", file.Name)
	if wrong := new(lineError); errors.As(err, &wrong) {
		place += fmt.Sprintf(", line %d", wrong.line)
	}
	return &usage.Error{Message: place + ": this is not a configuration that can be obeyed", Hint: "--config " + pin.Quoted(file.Name) + " says what is wrong with it"}
}

// effect says how the configuration changed a result, or returns nil. failOn is "" for a run whose exit code does not
// come from the findings.
func (c settings) effect(v verdict.Verdict, o output.Set[report.Report], failOn string) *config.Effect {
	if c.source.Name == "" && len(c.source.Ignored) == 0 {
		return nil
	}
	e := &config.Effect{File: c.source.Name, Named: c.source.Named, Changed: []string{},
		Ignored: append([]config.Ignored{}, c.source.Ignored...)}
	if c.failOn != "" && failOn != "" && exitFor(v, failOn, o) != exitFor(v, "error", o) {
		e.Changed = append(e.Changed, "fail-on: "+c.failOn)
	}
	if len(c.require) > 0 && v.Outcome != verdict.Compatible {
		e.Changed = append(e.Changed, "require: "+strings.Join(c.require, " "))
	}
	for _, use := range v.Waivers[len(v.Waivers)-len(c.waivers):] { // those of --ignore stand before them
		word := "waived " + use.Rule
		if use.Matched > 0 && !use.Expired && !slices.Contains(e.Changed, word) {
			e.Changed = append(e.Changed, word)
		}
	}
	return e
}

// parseConfig parses a configuration strictly. It takes scalars as written: 12.10 is not a number here, and 2027-01-31
// not a date.
func parseConfig(name string, data []byte) (settings, error) {
	var c settings
	doc := yamlDocument{name}
	root, err := doc.root(data)
	if err != nil || root == nil {
		return c, err
	}
	version := ""
	err = doc.mapping(root, map[string]func(*yaml.Node) error{
		"version": func(n *yaml.Node) error { return doc.knownWord(n, &version, "version", []string{"1"}) },
		"require": func(n *yaml.Node) error {
			return doc.list(n, func(n *yaml.Node) error {
				var word string
				err := doc.knownWord(n, &word, "requirement", matrix.Requirements())
				c.require = append(c.require, word)
				return err
			})
		},
		"fail-on": func(n *yaml.Node) error { return doc.knownWord(n, &c.failOn, "severity for fail-on", failOnWords) },
		"ignore": func(n *yaml.Node) error {
			return doc.list(n, func(n *yaml.Node) error { return c.waiver(doc, n) })
		},
		"supports": func(n *yaml.Node) error { return c.promise.read(doc, n) },
	})
	if err == nil && version == "" {
		err = doc.reject(root, "the version of this file's form is missing", "begin with version: 1")
	}
	return c, err
}

// read reads what is promised:
//
//	supports: {driver: "525.60.13", gpus: [V100, T4, "8.0"], instances: [g4dn.xlarge], platforms: [linux_x86_64]}
func (p *promise) read(doc yamlDocument, n *yaml.Node) error {
	words := func(to *[]string, known []string) func(*yaml.Node) error {
		return func(n *yaml.Node) error {
			return doc.list(n, func(n *yaml.Node) error {
				var word string
				err := doc.text(n, &word)
				if known != nil && err == nil {
					err = doc.knownWord(n, &word, "platform", known)
				}
				*to = append(*to, word)
				return err
			})
		}
	}
	err := doc.mapping(n, map[string]func(*yaml.Node) error{
		"driver":    func(n *yaml.Node) error { return doc.text(n, &p.driver) },
		"gpus":      words(&p.gpus, nil),
		"instances": words(&p.instances, nil),
		"platforms": words(&p.platforms, matrix.Platforms()),
	})
	if err == nil && p.isEmpty() {
		err = doc.reject(n, "supports promises nothing", "name a driver, gpus, instances or platforms")
	}
	return err
}

// longestMatch limits the match text of a waiver, in bytes, because each * in it costs memory when compiled.
const longestMatch = 1000

// waiver parses one entry of ignore.
func (c *settings) waiver(doc yamlDocument, n *yaml.Node) error {
	w := verdict.Waiver{Match: map[string]string{}}
	err := doc.mapping(n, map[string]func(*yaml.Node) error{
		"rule":   func(n *yaml.Node) error { return doc.knownWord(n, &w.Rule, "rule", ruleIDs()) },
		"reason": func(n *yaml.Node) error { return doc.text(n, &w.Reason) },
		"until":  func(n *yaml.Node) error { return doc.date(n, &w.Until) },
		"match": func(n *yaml.Node) error {
			return doc.pairs(n, func(key, value *yaml.Node) error {
				var glob string
				err := doc.text(value, &glob)
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
		return doc.reject(n, "a waiver names no rule", "rule: one of "+usage.JoinWords(ruleIDs()))
	case strings.TrimSpace(w.Reason) == "":
		return doc.reject(n, "the waiver of "+w.Rule+" has no reason", `reason: "who decided it and why"`)
	}
	c.waivers, c.lines = append(c.waivers, w), append(c.lines, n.Line)
	return nil
}

// date returns the last day of a waiver.
func (d yamlDocument) date(n *yaml.Node, day *string) error {
	if err := d.text(n, day); err != nil {
		return err
	}
	if _, err := time.Parse(time.DateOnly, *day); err != nil {
		return d.reject(n, fmt.Sprintf("%q is not a date", *day), "write the year, the month and the day: 2027-01-31")
	}
	return nil
}

// remark says on stderr which waivers of the file match nothing here.
func (c settings) remark(w io.Writer, v verdict.Verdict) {
	uses := v.Waivers[len(v.Waivers)-len(c.waivers):] // those of --ignore stand before them
	for i, use := range uses {
		if use.Matched == 0 {
			message := fmt.Sprintf("%q, line %d: the waiver of %s matched nothing", c.source.Name, c.lines[i], use.Rule)
			terminal.Complain(w, message, unmatchedAdvice(use.Waiver, findingsOf(use.Rule, v)))
		}
	}
}

// findingsOf returns all findings of a rule, including waived ones.
func findingsOf(rule string, v verdict.Verdict) []verdict.Finding {
	all := slices.Clone(v.Findings)
	for _, s := range v.Suppressed {
		all = append(all, s.Finding)
	}
	return slices.DeleteFunc(all, func(f verdict.Finding) bool { return f.Rule != rule })
}

// unmatchedAdvice says what to do about a waiver that matches none of its rule's findings.
func unmatchedAdvice(w verdict.Waiver, findings []verdict.Finding) string {
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
