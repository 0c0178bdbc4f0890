package main

import (
	"cmp"
	"io"
	"os"

	"cudacompat/internal/config"
	"cudacompat/internal/terminal"
	"cudacompat/matrix/verdict"
)

// configure reads the configuration. The caller's flags take precedence.
func (f *judgeFlags) configure() (config.Settings, error) {
	if inPage {
		return config.Settings{}, nil
	}
	c, err := config.Read(f.namedConfig())
	if err != nil {
		return config.Settings{}, err
	}
	if f.given("require") {
		c.Require = nil
	} else if c.Require != nil {
		f.require = c.Require
	}
	if f.given("fail-on") {
		c.FailOn = ""
	} else if c.FailOn != "" {
		f.failOn = c.FailOn
	}
	return c, nil
}

// namedConfig returns the configuration named by the flag or the environment.
func (f *judgeFlags) namedConfig() string { return cmp.Or(f.config, os.Getenv("CUDACOMPAT_CONFIG")) }

// describeEffect says how the configuration changed a result, or returns nil.
func (j job) describeEffect(v verdict.Verdict) *config.Effect {
	return j.config.DescribeEffect(v, j.config.FailOn != "" && j.failOn != "" && exitFor(v, j.failOn, j.outputs) != exitFor(v, "error", j.outputs))
}

// remarkUnmatched says on stderr which waivers of the configuration match nothing here.
func (j job) remarkUnmatched(w io.Writer, v verdict.Verdict) {
	for _, r := range j.config.ListUnmatched(v) {
		terminal.Complain(w, r.Message, r.Hint)
	}
}
