package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"cudacompat/internal/lazyregexp"
)

// checkInputs rejects a command that reads something readable only once. Its dry run would see other requirements than
// the command itself.
func (g *guarding) checkInputs() error {
	settings := guardSettings(g.host, g.command)
	dir := g.command.WorkingDir(settings)
	for _, name := range g.command.Inputs(settings) {
		file := name
		if u, err := url.Parse(name); err == nil && u.Scheme == "file" {
			file = u.Path
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		switch {
		case name == "-":
			name = "standard input"
		case !readsOnce(file):
			continue
		}
		return fmt.Errorf("it cannot be determined what the command installs: guard cannot read %s twice; save it to a file and name that", name)
	}
	return nil
}

// descriptorName matches the names of a process's open files. In another process such a name means another file.
var descriptorName = lazyregexp.New(`^/dev/(?:stdin|fd/[^/]+)$|^/proc/[^/]+/(?:task/[^/]+/)?fd/[^/]+$`)

// readsOnce reports whether a name leads to an open file of a process, a pipe or a device. A second reader would find
// something else.
func readsOnce(name string) bool {
	name = filepath.Clean(name)
	for range 40 { // as many links as Linux follows
		if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
			name = filepath.Join(dir, filepath.Base(name))
		}
		if descriptorName.MatchString(name) {
			return true
		}
		link, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(name), link)
		}
		name = filepath.Clean(link)
	}
	info, err := os.Stat(name)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir() && name != os.DevNull
}
