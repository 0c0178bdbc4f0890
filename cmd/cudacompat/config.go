package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/matrix"
	"cudacompat/matrix/verdict"

	"go.yaml.in/yaml/v4"
)

// configName is the file that is looked for when none is named.
const configName = ".cudacompat.yaml"

// configCap bounds a configuration; a hundred waivers are below 32 KiB.
const configCap = 1 << 20

// config is what a configuration file says. Its words have all been checked.
type config struct {
	file    string // as it was named; empty: there is none
	require []string
	failOn  string
	waivers []verdict.Waiver
	lines   []int // of each waiver
}

// configure reads the configuration; what the caller gave as a flag goes before what it says.
func (f *judgeFlags) configure() (config, error) {
	name, data, err := findConfig(f.config)
	if err != nil {
		return config{}, err
	}
	c, err := parseConfig(name, data)
	if err != nil {
		return config{}, err
	}
	if c.require != nil && !f.given("require") {
		f.require = c.require
	}
	if c.failOn != "" && !f.given("fail-on") {
		f.failOn = c.failOn
	}
	return c, nil
}

// findConfig reads the file that is named by the flag or the environment, else the first one that is there, else
// nothing.
func findConfig(named string) (string, []byte, error) {
	if named = cmp.Or(named, os.Getenv("CUDACOMPAT_CONFIG")); named != "" {
		data, err := readConfig(named)
		return named, data, err
	}
	for _, dir := range []string{".", "/etc/cudacompat"} {
		name := filepath.Join(dir, configName)
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && !info.Mode().IsRegular(): // nobody has named it: a pipe would be waited for
			return name, nil, unreadableConfig(name, errors.New("it is not a regular file"))
		}
		data, err := readConfig(name)
		return name, data, err
	}
	return "", nil, nil
}

func readConfig(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadableConfig(name, cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, configCap+1))
	if err == nil && len(data) > configCap {
		err = fmt.Errorf("it is larger than %d bytes", configCap)
	}
	if err != nil {
		return nil, unreadableConfig(name, cause(err))
	}
	return data, nil
}

func unreadableConfig(name string, why error) error {
	return &usageError{fmt.Sprintf("cannot read the configuration %q: %v", name, why),
		"--config FILE and $CUDACOMPAT_CONFIG name another"}
}

// parseConfig reads a configuration strictly. It takes scalars as they are written: 12.10 is no number here, and
// 2027-01-31 no date.
func parseConfig(name string, data []byte) (config, error) {
	c := config{file: name}
	doc := document{name}
	root, err := doc.root(data)
	if err != nil || root == nil {
		return c, err
	}
	version := ""
	err = doc.mapping(root, map[string]func(*yaml.Node) error{
		"version": func(n *yaml.Node) error { return doc.word(n, &version, "version", []string{"1"}) },
		"require": func(n *yaml.Node) error {
			return doc.list(n, func(n *yaml.Node) error {
				var word string
				err := doc.word(n, &word, "requirement", matrix.Requirements())
				c.require = append(c.require, word)
				return err
			})
		},
		"fail-on": func(n *yaml.Node) error { return doc.word(n, &c.failOn, "severity for fail-on", failOnWords) },
		"ignore": func(n *yaml.Node) error {
			return doc.list(n, func(n *yaml.Node) error { return c.waiver(doc, n) })
		},
	})
	if err == nil && version == "" {
		err = doc.wrong(root, "the version of this file's form is missing", "begin with version: 1")
	}
	return c, err
}

// longestMatch is how many bytes a waiver's text to match may have: each * of it costs memory when it is compiled.
const longestMatch = 1000

// waiver reads one entry of ignore.
func (c *config) waiver(doc document, n *yaml.Node) error {
	w := verdict.Waiver{Match: map[string]string{}}
	err := doc.mapping(n, map[string]func(*yaml.Node) error{
		"rule":   func(n *yaml.Node) error { return doc.word(n, &w.Rule, "rule", ruleIDs()) },
		"reason": func(n *yaml.Node) error { return doc.text(n, &w.Reason) },
		"until":  func(n *yaml.Node) error { return doc.date(n, &w.Until) },
		"match": func(n *yaml.Node) error {
			return doc.pairs(n, func(key, value *yaml.Node) error {
				var glob string
				err := doc.text(value, &glob)
				if err == nil && len(glob) > longestMatch {
					err = doc.wrong(value, fmt.Sprintf("the text to match for %s has %d bytes", key.Value, len(glob)),
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
		return doc.wrong(n, "a waiver names no rule", "rule: one of "+inWords(ruleIDs()))
	case strings.TrimSpace(w.Reason) == "":
		return doc.wrong(n, "the waiver of "+w.Rule+" has no reason", `reason: "who decided it and why"`)
	}
	c.waivers, c.lines = append(c.waivers, w), append(c.lines, n.Line)
	return nil
}

// date is the last day of a waiver.
func (d document) date(n *yaml.Node, day *string) error {
	if err := d.text(n, day); err != nil {
		return err
	}
	if _, err := time.Parse(time.DateOnly, *day); err != nil {
		return d.wrong(n, fmt.Sprintf("%q is not a date", *day), "write the year, the month and the day: 2027-01-31")
	}
	return nil
}

// remark says which waivers of the file are about nothing here.
func (c config) remark(w io.Writer, v verdict.Verdict) {
	uses := v.Waivers[len(v.Waivers)-len(c.waivers):] // those of --ignore stand before them
	for i, use := range uses {
		if use.Matched == 0 {
			message := fmt.Sprintf("%q, line %d: the waiver of %s matched nothing", c.file, c.lines[i], use.Rule)
			complain(w, message, unmatchedAdvice(use.Waiver, findingsOf(use.Rule, v)))
		}
	}
}

// findingsOf are all findings of a rule, waived ones too.
func findingsOf(rule string, v verdict.Verdict) []verdict.Finding {
	all := slices.Clone(v.Findings)
	for _, s := range v.Suppressed {
		all = append(all, s.Finding)
	}
	return slices.DeleteFunc(all, func(f verdict.Finding) bool { return f.Rule != rule })
}

// unmatchedAdvice says what to do about a waiver that is about none of its rule's findings.
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
			return fmt.Sprintf("no finding of the rule has %q to match; %s", key, suggest(key, known))
		}
	}
	return "the rule has findings, but none that its match is true of; compare it with their evidence in -o json"
}
