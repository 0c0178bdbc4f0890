package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// platforms are those for which different modules are linked in: Windows has a console of its own.
var platforms = []string{"linux", "windows", "darwin"}

const noticeHead = `cudacompat
Copyright the authors of cudacompat. Licensed under the Apache License, Version 2.0; see LICENSE.

The program contains the Go modules below, unchanged, and the Go standard library, under their licences.
`

// notice writes the licence of every module that is linked into the program, whole.
func notice(w io.Writer) error {
	modules, err := linkedModules()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, noticeHead); err != nil {
		return err
	}
	for _, m := range modules {
		if err := m.write(w); err != nil {
			return err
		}
	}
	return nil
}

// module is one that is linked in, and where its files lie.
type module struct{ name, dir string }

// linkedModules asks the go command, for every platform, sorted; the standard library comes first.
func linkedModules() ([]module, error) {
	goroot, err := goCommand("linux", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	list := []module{{"the Go standard library", strings.TrimSpace(goroot)}}
	var lines []string
	for _, system := range platforms {
		out, err := goCommand(system, "list", "-deps", "-f",
			"{{with .Module}}{{if .Version}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/cudacompat")
		if err != nil {
			return nil, err
		}
		lines = append(lines, strings.Split(strings.TrimSpace(out), "\n")...)
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		if name, dir, ok := strings.Cut(line, " "); ok {
			list = append(list, module{name, dir})
		}
	}
	return list, nil
}

// goCommand returns the output of the go command for a system. With cgo, since go-nvml is linked in only then; listing
// compiles nothing.
func goCommand(system string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cgo := "0"
	if system == "linux" {
		cgo = "1"
	}
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED="+cgo)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

// write copies the files in which a module says its terms.
func (m module) write(w io.Writer) error {
	found := false
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !licence(e.Name()) || e.IsDir() {
			continue
		}
		found = true
		text, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
		if err != nil {
			return err
		}
		lines := strings.ReplaceAll(strings.TrimSpace(string(text)), "\r\n", "\n")
		if _, err := fmt.Fprintf(w, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("-", 80), m.name, e.Name(), lines); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s says no licence in %s", m.name, m.dir)
	}
	return nil
}

func licence(file string) bool {
	name, _, _ := strings.Cut(strings.ToUpper(file), ".")
	return slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, name)
}
