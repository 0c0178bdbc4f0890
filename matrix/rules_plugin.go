package matrix

import (
	"fmt"

	"cudacompat/internal/lazyregexp"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// dotted matches what jaxlib compares of a version: all numbers before a suffix.
var dotted = lazyregexp.New(`^\d+(\.\d+)*`)

// otherPlugin: jaxlib takes nothing of a plugin of another release than its own, and says so in a warning
// (jaxlib/plugin_support.py, check_plugin_version); the plugin pins the library that it starts with. An error, since
// JAX then runs on the CPU.
func (b *build) otherPlugin() []*result {
	if b.accelerator != "cuda" || !b.official() || !b.cuda.Known() {
		return nil
	}
	plugin, library := fmt.Sprintf("jax-cuda%d-plugin", b.cuda.Major()), fmt.Sprintf("jax-cuda%d-pjrt", b.cuda.Major())
	compared := false
	for _, name := range []string{plugin, library} {
		p := b.env.Package(name)
		// Without a version of jaxlib there is nothing to compare.
		if p == nil || dotted.FindString(b.Version) == "" {
			continue
		}
		compared = true
		if dotted.FindString(p.Version) == dotted.FindString(b.Version) {
			continue
		}
		// Both at once: the plugin requires its library of the same release.
		specs := []string{plugin + "==" + b.Version, library + "==" + b.Version}
		return found(Finding{Severity: Error, Subject: b.subject, Need: name + " " + b.Version,
			Message: fmt.Sprintf("%s is %s but jaxlib is %s: JAX refuses a plugin of another release", name, p.Version,
				b.Version),
			Evidence: append(b.evidence(), Evidence{Fact: name, Value: p.Version, From: p.Path}),
			Pins: []Pin{{Package: plugin, Version: b.Version, Why: "the plugin of this jaxlib; keeps the driver",
				Commands: b.env.install(pin.Install{Packages: specs})}},
			Source: []string{"https://docs.jax.dev/en/latest/installation.html"}})
	}
	if compared {
		return holds(b.subject)
	}
	return nil
}

// otherJaxlib: jax compares jaxlib's release with its own when it is imported, and raises RuntimeError. The pin is the
// whole set: jaxlib, its plugin and its library are of one release.
func (b *build) otherJaxlib(h facts.Hindrance) Finding {
	own := b.distribution()
	f := Finding{Severity: Error, Subject: b.subject, Need: h.By, Pins: b.withLibraries(),
		Message:  fmt.Sprintf("jax %s requires %s, but jaxlib is %s: importing jax fails", own.Version, h.By, b.Version),
		Evidence: append(b.evidence(), Evidence{Fact: "jax requires", Value: h.By, From: h.Path}),
		Source:   []string{"https://github.com/jax-ml/jax/blob/jax-v0.9.0/jax/_src/lib/__init__.py"}}
	f.Pins[0].Why = "the jaxlib and the plugin of this jax; keeps the driver"
	return f
}
