package guard

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"cudacompat/probe"
)

// findPrefix returns the environment of an interpreter in its bin directory, otherwise the name unchanged. For a version
// it returns "".
func findPrefix(python string) string {
	dir, name := filepath.Split(python)
	switch {
	case strings.HasPrefix(name, "python") && filepath.Base(dir) == "bin":
		return filepath.Dir(filepath.Clean(dir))
	case strings.Contains(python, "/"):
		return python
	}
	return ""
}

// findEnvironment returns where the command installs: what the command says, otherwise what its dry run says, otherwise
// what its program would find.
func (g *Forecaster) findEnvironment(said string) (string, error) {
	c := g.Command
	settings := readSettings(g.Host, c)
	where, dir := c.Destination(settings), c.WorkingDir(settings)
	from := func(path string) (string, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return filepath.Abs(path)
	}
	switch {
	case where.Unknown != "":
		return "", fmt.Errorf("it cannot be determined which environment the command changes: %s decides; name it on the command line", where.Unknown)
	case c.Into() != "" || where.Into != "":
		return from(cmp.Or(c.Into(), where.Into))
	case where.Python != "":
		return from(where.Python)
	case said != "":
		return from(said)
	case c.By == "pip" && c.Python() != "":
		return from(c.Python())
	case c.By == "pip":
		return findPython(c.Argv[0])
	case findPrefix(c.Python()) != "":
		return from(findPrefix(c.Python()))
	}
	if c.By == "uv" {
		return "", errors.New("it cannot be determined which environment the command changes: uv does not say which is the project's")
	}
	if dir != settings.Dir && settings.Getenv("VIRTUAL_ENV")+settings.Getenv("CONDA_PREFIX") == "" {
		if env := findEnvironmentAbove(g.Host, dir); env != "" {
			return env, nil
		}
	} else if env := probe.ActiveEnvironment(g.Host); env != "" {
		return env, nil
	}
	return "", errors.New("it cannot be determined which environment the command changes: name it with --python")
}

// findEnvironmentAbove returns the .venv of a directory or of its nearest parent that has one, as uv does.
func findEnvironmentAbove(h *probe.Host, dir string) string {
	for {
		if env := filepath.Join(dir, ".venv"); probe.IsEnvironment(h, env) {
			return env
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// readSettings returns the settings that an installer finds here.
func readSettings(h *probe.Host, c Command) Settings {
	dir, _ := os.Getwd()
	s := Settings{Getenv: lookUpSettings(os.Environ()), Dir: dir, Read: func(file string) []byte {
		data, _ := h.ReadFile(file)
		return data
	}}
	if c.By == "pip" {
		s.Prefix = findPipPrefix(h, c)
	}
	return s
}

// findPipPrefix returns sys.prefix of the Python that runs pip: the environment with a pyvenv.cfg, otherwise the directory
// that the interpreter's link leads to.
func findPipPrefix(h *probe.Host, c Command) string {
	python := c.Python()
	if probe.IsEnvironment(h, python) {
		return python
	}
	if python == "" {
		python, _ = findPython(c.Argv[0])
	}
	if python == "" {
		return ""
	}
	bin := filepath.Dir(python)
	for _, dir := range []string{bin, filepath.Dir(bin)} {
		if _, err := h.ReadFile(filepath.Join(dir, "pyvenv.cfg")); err == nil {
			return filepath.Dir(bin)
		}
	}
	if real, err := filepath.EvalSymlinks(python); err == nil {
		bin = filepath.Dir(real)
	}
	return filepath.Dir(bin)
}

// lookUpSettings returns a lookup in the variables. pip ignores the case of the letters after PIP_, so PIP_Target is
// PIP_TARGET.
func lookUpSettings(environ []string) func(name string) string {
	return func(name string) string {
		found := ""
		for _, variable := range environ {
			key, value, _ := strings.Cut(variable, "=")
			if key == name || strings.HasPrefix(key, "PIP_") && strings.EqualFold(key, name) && value != "" {
				found = value
			}
		}
		return found
	}
}

// findPython returns the interpreter of a pip: the program itself, the one on its first line, or the one beside it.
func findPython(program string) (string, error) {
	found, err := exec.LookPath(program)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return "", fmt.Errorf("%s is not on PATH", program)
	}
	if strings.HasPrefix(filepath.Base(found), "python") {
		return found, nil
	}
	if info, err := os.Stat(found); err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return "", fmt.Errorf("%s is not a program", found)
	}
	if file, err := os.Open(found); err == nil {
		defer file.Close()
		line, _ := bufio.NewReader(io.LimitReader(file, 512)).ReadString('\n')
		interpreter := strings.TrimSpace(strings.TrimPrefix(line, "#!"))
		if filepath.IsAbs(interpreter) && strings.HasPrefix(filepath.Base(interpreter), "python") {
			return interpreter, nil
		}
	}
	return filepath.Join(filepath.Dir(found), "python3"), nil
}
