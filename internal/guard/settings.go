package guard

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Settings are what an installer reads besides its command: the environment's variables and configuration files.
type Settings struct {
	Getenv func(name string) string
	Read   func(file string) []byte // nil where there is none
	Dir    string                   // the current directory
}

// Destination is where settings send packages. Where Unknown is not empty, it says which of them decides and is not
// followed.
type Destination struct {
	Into    string // a directory, as --target names one
	Python  string // an interpreter or an environment, as --python names one
	Unknown string
}

// Destination returns where the settings send the packages of a command, as far as the command does not say it.
func (c Command) Destination(s Settings) Destination {
	if c.Into() != "" {
		return Destination{}
	}
	if c.By == "pip" {
		return c.pipDestination(s)
	}
	for _, file := range uvFiles(s) {
		if key := uvElsewhere.FindString(uvPipSettings(file, s.Read(file))); key != "" {
			return Destination{Unknown: fmt.Sprintf("%s of %s", strings.Fields(strings.ReplaceAll(key, "=", " "))[0], file)}
		}
	}
	return Destination{}
}

// pipDestination returns where pip's variables and files send packages. Variables go before files.
func (c Command) pipDestination(s Settings) Destination {
	var d Destination
	for _, name := range []string{"PREFIX", "ROOT", "USER"} {
		if value := s.Getenv("PIP_" + name); value != "" && !(name == "USER" && isFalse(value)) {
			return Destination{Unknown: "PIP_" + name}
		}
	}
	d.Into, d.Python = s.Getenv("PIP_TARGET"), s.Getenv("PIP_PYTHON")
	if c.Verb == "uninstall" {
		d.Into = ""
	}
	if c.Python() != "" {
		d.Python = ""
	}
	if d.Into != "" || d.Python != "" {
		return d
	}
	for _, file := range pipFiles(s) {
		section := ""
		for line := range bytes.Lines(s.Read(file)) {
			text := strings.TrimSpace(string(line))
			if strings.HasPrefix(text, "[") { // what stands behind the bracket means nothing
				section = text[1:max(strings.LastIndexByte(text, ']'), 1)]
				continue
			}
			m := pipElsewhere.FindStringSubmatch(strings.ToLower(text))
			if m != nil && (section == "global" || section == c.Verb) && !(m[1] == "user" && isFalse(m[2])) &&
				!(m[1] == "python" && c.Python() != "") {
				return Destination{Unknown: fmt.Sprintf("%s of %s", m[1], file)}
			}
		}
	}
	return Destination{}
}

var (
	pipElsewhere = lazyregexp.New(`^(?:--)?(target|prefix|root|user|python)\s*[=:]\s*(.*)$`)
	uvElsewhere  = lazyregexp.New(`(?m)^\s*(?:pip\s*\.\s*)?(?:target|prefix)\s*=`)
)

func isFalse(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "0", "false", "no", "off", "n", "f":
		return true
	}
	return false
}

// pipFiles returns the configuration files of pip.
func pipFiles(s Settings) []string {
	own := s.Getenv("PIP_CONFIG_FILE")
	if own == "/dev/null" { // pip reads none then
		return nil
	}
	files := []string{"/etc/pip.conf", "/etc/xdg/pip/pip.conf"}
	home, configs := s.Getenv("HOME"), s.Getenv("XDG_CONFIG_HOME")
	if configs == "" && home != "" {
		configs = filepath.Join(home, ".config")
	}
	if home != "" {
		files = append(files, filepath.Join(home, ".pip/pip.conf"))
	}
	if configs != "" {
		files = append(files, filepath.Join(configs, "pip/pip.conf"))
	}
	if env := s.Getenv("VIRTUAL_ENV"); env != "" {
		files = append(files, filepath.Join(env, "pip.conf"))
	}
	if own != "" {
		files = append(files, within(s.Dir, own))
	}
	return files
}

// uvFiles returns the configuration files of uv: the nearest of a project, the user's and the system's.
func uvFiles(s Settings) []string {
	if file := s.Getenv("UV_CONFIG_FILE"); file != "" {
		return []string{within(s.Dir, file)}
	}
	var files []string
	for dir := s.Dir; dir != ""; dir = filepath.Dir(dir) {
		files = append(files, filepath.Join(dir, "uv.toml"), filepath.Join(dir, "pyproject.toml"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if home := s.Getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".config/uv/uv.toml"))
	}
	if configs := s.Getenv("XDG_CONFIG_HOME"); configs != "" {
		files = append(files, filepath.Join(configs, "uv/uv.toml"))
	}
	return append(files, "/etc/uv/uv.toml")
}

// within returns a path that is taken from a directory.
func within(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// uvPipSettings returns the lines of a file that are of uv's pip interface.
func uvPipSettings(file string, data []byte) string {
	project, section := filepath.Base(file) == "pyproject.toml", ""
	var kept strings.Builder
	for line := range bytes.Lines(data) {
		text := strings.NewReplacer(`"`, "", "'", "").Replace(strings.TrimSpace(string(line))) // a key may be quoted
		if strings.HasPrefix(text, "[") {
			text, _, _ = strings.Cut(text, "#")
			section = strings.NewReplacer("[", "", "]", "", " ", "", "\t", "").Replace(text)
			continue
		}
		inline := (section == "" && !project || section == "tool.uv") && strings.HasPrefix(text, "pip")
		if section == "pip" && !project || section == "tool.uv.pip" {
			kept.WriteString(text + "\n")
		} else if inline { // pip.target = …, pip = { target = … }
			kept.WriteString(strings.NewReplacer("{", "\n", ",", "\n").Replace(text) + "\n")
		}
	}
	return kept.String()
}

// destinationOptions are the options that decide where packages go.
var destinationOptions = []string{"--target", "--prefix", "--root", "--user", "--python"}

// abbreviated returns an argument that pip may take for one of these options, as it takes any abbreviation of an option
// that is not ambiguous, or a cluster of letters that ends in -t; empty where there is none.
func (c Command) abbreviated() string {
	for i, arg := range c.Argv {
		if i == 0 || slices.Contains(optionsWithValue, c.Argv[i-1]) {
			continue
		}
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(arg, "=")
		for _, option := range destinationOptions {
			if c.By == "pip" && len(name) > 3 && name != option && name != "--pre" && strings.HasPrefix(option, name) {
				return arg
			}
		}
		if len(arg) < 3 || arg[0] != '-' || arg[1] == '-' || arg[1] == 't' {
			continue
		}
		for _, letter := range arg[1:] {
			if strings.ContainsRune("rceifbCpP", letter) { // the rest is its value
				break
			}
			if letter == 't' {
				return arg
			}
		}
	}
	return ""
}
