package extension

import (
	"fmt"

	"cudacompat/internal/lazyregexp"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/internal/rules/environment"
	"cudacompat/matrix/internal/rules/rule"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// numericPrefix matches the part of a version that jaxlib compares: the numbers before any suffix.
var numericPrefix = lazyregexp.New(`^\d+(\.\d+)*`)

// reportOtherPlugin reports a CUDA plugin (jax-cuda12-plugin, or its library jax-cuda12-pjrt) whose version differs
// from jaxlib's. jaxlib ignores such a plugin with a warning (jaxlib/plugin_support.py, check_plugin_version). The
// finding is an error, because JAX then runs on the CPU. The pin installs plugin and library in jaxlib's version.
func reportOtherPlugin(b *model.Build) []*rule.Result {
	if b.Device != "cuda" || !b.Official() || !b.CUDANumber.Known() {
		return nil
	}
	plugin, library := fmt.Sprintf("jax-cuda%d-plugin", b.CUDANumber.Major()), fmt.Sprintf("jax-cuda%d-pjrt", b.CUDANumber.Major())
	compared := false
	for _, name := range []string{plugin, library} {
		p := b.Env.Package(name)
		// An unknown version of jaxlib cannot be compared.
		if p == nil || numericPrefix.FindString(b.Version) == "" {
			continue
		}
		compared = true
		if numericPrefix.FindString(p.Version) == numericPrefix.FindString(b.Version) {
			continue
		}
		// Install both: the plugin requires its library in the same release.
		specs := []string{plugin + "==" + b.Version, library + "==" + b.Version}
		return rule.ReportFinding(verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: name + " " + b.Version,
			Message: fmt.Sprintf("%s is %s but jaxlib is %s: JAX refuses a plugin of another release", name, p.Version,
				b.Version),
			Evidence: append(b.Evidence(), verdict.Evidence{Fact: name, Value: p.Version, From: p.Path}),
			Pins: []verdict.Pin{{Package: plugin, Version: b.Version, Why: "the plugin of this jaxlib; keeps the driver",
				Commands: pins.Install(b.Place(), pin.Install{Packages: specs})}},
			Source: []string{"https://docs.jax.dev/en/latest/installation.html"}})
	}
	if compared {
		return rule.Pass(b.Subject)
	}
	return nil
}

// reportOtherJaxlib reports a jaxlib version that jax does not accept. jax compares the two versions at import and
// raises RuntimeError. The pin also names the plugin and its library, because their version must equal jaxlib's.
func reportOtherJaxlib(b *model.Build, h facts.Hindrance) verdict.Finding {
	own := environment.InstalledDistribution(b)
	f := verdict.Finding{Severity: verdict.Error, Subject: b.Subject, Need: h.By, Pins: environment.AddLibraries(b),
		Message:  fmt.Sprintf("jax %s requires %s, but jaxlib is %s: importing jax fails", own.Version, h.By, b.Version),
		Evidence: append(b.Evidence(), verdict.Evidence{Fact: "jax requires", Value: h.By, From: h.Path}),
		Source:   []string{"https://github.com/jax-ml/jax/blob/jax-v0.9.0/jax/_src/lib/__init__.py"}}
	f.Pins[0].Why = "the jaxlib and the plugin of this jax; keeps the driver"
	return f
}
