package guard

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"cudacompat/internal/lazyregexp"
)

// maxInputs bounds the files that checkInputs follows. No project includes as many.
const maxInputs = 200

// checkInputs rejects a command that reads something readable only once. Its dry run would see other requirements than
// the command itself. It follows the files that requirements include.
func (g *Forecaster) checkInputs(ctx context.Context) error {
	settings := readSettings(g.Host, g.Command)
	dir := g.Command.WorkingDir(settings)
	var files []string // regular ones that may be requirements
	check := func(names []string, dir, by string) error {
		for _, name := range names {
			file := resolvePath(name, dir)
			switch {
			case name == "-" && by == "":
				name = "standard input"
			case isReadOnce(file):
				name += by
			default:
				if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && !slices.Contains(files, file) {
					files = append(files, file)
				}
				continue
			}
			return fmt.Errorf("it cannot be determined what the command installs: guard cannot read %s twice; save it to a file and name that", name)
		}
		return nil
	}
	err := check(g.Command.Inputs(settings), dir, "")
	for i := 0; i < len(files) && err == nil; i++ {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case i == maxInputs:
			return fmt.Errorf("it cannot be determined what the command installs: its requirements include more than %d files", maxInputs)
		}
		err = check(Included(settings.Read(files[i]), settings.Getenv), filepath.Dir(files[i]), ", which "+files[i]+" includes,")
	}
	return err
}

// resolvePath returns the file that a text names, as a path or as an address, seen from a directory.
func resolvePath(name, dir string) string {
	if u, err := url.Parse(name); err == nil && u.Scheme == "file" {
		name = u.Path
	}
	if !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return name
}

// descriptorName matches the names of a process's open files. In another process such a name means another file.
var descriptorName = lazyregexp.New(`^/dev/(?:stdin|fd/[^/]+)$|^/proc/[^/]+/(?:task/[^/]+/)?fd/[^/]+$`)

// isReadOnce reports whether a name leads to an open file of a process, a pipe or a device. A second reader would find
// something else.
func isReadOnce(name string) bool {
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
