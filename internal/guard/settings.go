package guard

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Settings are an installer's inputs besides its command: environment variables and configuration files.
type Settings struct {
	Getenv func(name string) string
	Read   func(file string) []byte // nil where there is none
	Dir    string                   // the current directory; see WorkingDir
	Prefix string                   // sys.prefix of the Python that runs pip; empty where it is not known
}

// Destination is where settings send packages. Where Unknown is not empty, it says which of them decides and is not
// followed.
type Destination struct {
	Into    string // a directory, as --target names one
	Python  string // an interpreter or an environment, as --python names one
	Unknown string
}

// Destination returns where the settings direct the packages of a command, unless the command says it.
func (c Command) Destination(s Settings) Destination {
	if c.Into() != "" {
		return Destination{}
	}
	if c.By == "pip" {
		return c.pipDestination(s)
	}
	for _, file := range c.uvFiles(s) {
		data := s.Read(file)
		if len(data) == 0 {
			continue
		}
		key, err := uvDestination(filepath.Base(file), data)
		switch {
		case err != nil:
			return Destination{Unknown: fmt.Sprintf("%s, which cannot be read,", file)}
		case key != "":
			return Destination{Unknown: fmt.Sprintf("%s of %s", key, file)}
		}
	}
	return Destination{}
}

// WorkingDir returns the directory in which the command works. uv changes to the one in --directory or its variables.
func (c Command) WorkingDir(s Settings) string {
	if c.By == "pip" {
		return s.Dir
	}
	dir, given := c.value("--directory")
	if !given {
		dir = cmp.Or(s.Getenv("UV_WORKING_DIR"), s.Getenv("UV_WORKING_DIRECTORY"))
	}
	return within(s.Dir, dir)
}

// pipDestination returns where pip's variables and files direct packages. Variables take precedence.
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
	return Destination{Unknown: c.pipConfigured(s)}
}

// pipConfigured returns the key of pip's files that decides where packages go, with its file, or "". The last of
// several files wins, and a command's section wins over [global].
func (c Command) pipConfigured(s Settings) string {
	type setting struct{ value, file string }
	set := map[string]setting{}
	for _, file := range pipFiles(s) {
		data := s.Read(file)
		if len(data) == 0 {
			continue
		}
		sections, err := parseConfig(data)
		if err != nil {
			return fmt.Sprintf("%s, which cannot be read,", file)
		}
		for section, keys := range sections {
			for key, value := range keys {
				key = strings.TrimPrefix(strings.ReplaceAll(key, "_", "-"), "--")
				set[section+"."+key] = setting{value, file}
			}
		}
	}
	for _, key := range []string{"target", "prefix", "root", "user", "python"} {
		found := set["global."+key]
		if own := set[c.Verb+"."+key]; own.value != "" { // pip ignores empty values
			found = own
		}
		switch {
		case found.value == "" || key == "user" && isFalse(found.value) || key == "python" && c.Python() != "":
		default:
			return fmt.Sprintf("%s of %s", key, found.file)
		}
	}
	return ""
}

// uvDestination returns the key of a uv configuration file that decides where its pip interface installs.
func uvDestination(name string, data []byte) (key string, err error) {
	type settings struct {
		Pip struct {
			Target any `toml:"target"`
			Prefix any `toml:"prefix"`
		} `toml:"pip"`
	}
	var own settings
	if name == "pyproject.toml" {
		var project struct {
			Tool struct {
				UV settings `toml:"uv"`
			} `toml:"tool"`
		}
		err = toml.Unmarshal(data, &project)
		own = project.Tool.UV
	} else {
		err = toml.Unmarshal(data, &own)
	}
	switch {
	case own.Pip.Target != nil:
		key = "target"
	case own.Pip.Prefix != nil:
		key = "prefix"
	}
	return key, err
}

func isFalse(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "0", "false", "no", "off", "n", "f":
		return true
	}
	return false
}

// pipFiles returns the configuration files that pip reads; the last one wins: those of the system, of the user, of the
// Python that runs pip, and PIP_CONFIG_FILE. If that one exists, pip ignores the user's.
func pipFiles(s Settings) []string {
	own := s.Getenv("PIP_CONFIG_FILE")
	if own == "/dev/null" { // pip reads none then
		return nil
	}
	var files []string
	for _, dir := range systemConfigs(s) {
		files = append(files, filepath.Join(dir, "pip/pip.conf"))
	}
	files = append(files, "/etc/pip.conf")
	if own == "" || s.Read(within(s.Dir, own)) == nil {
		if home := s.Getenv("HOME"); home != "" {
			files = append(files, filepath.Join(home, ".pip/pip.conf"))
		}
		if configs := userConfigs(s); configs != "" {
			files = append(files, filepath.Join(configs, "pip/pip.conf"))
		}
	}
	if prefix := cmp.Or(s.Prefix, s.Getenv("VIRTUAL_ENV")); prefix != "" {
		files = append(files, filepath.Join(prefix, "pip.conf"))
	}
	if own != "" {
		files = append(files, within(s.Dir, own))
	}
	return files
}

// uvFiles returns the configuration files that uv may read: those of the directory and its parents, any of which a
// workspace may select, the user's and the system's.
func (c Command) uvFiles(s Settings) []string {
	working := c.WorkingDir(s)
	if file, given := c.value("--config-file"); given {
		return []string{within(working, file)}
	}
	if file := s.Getenv("UV_CONFIG_FILE"); file != "" { // read whatever UV_NO_CONFIG says
		return []string{within(working, file)}
	}
	if no := s.Getenv("UV_NO_CONFIG"); slices.Contains(c.Argv, "--no-config") || no != "" && !isFalse(no) {
		return nil
	}
	project, given := c.value("--project")
	if !given {
		project = s.Getenv("UV_PROJECT")
	}
	dir := within(working, project)
	var files []string
	for ; dir != ""; dir = filepath.Dir(dir) {
		files = append(files, filepath.Join(dir, "uv.toml"), filepath.Join(dir, "pyproject.toml"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if configs := userConfigs(s); configs != "" {
		files = append(files, filepath.Join(configs, "uv/uv.toml"))
	}
	for _, dir := range systemConfigs(s) {
		files = append(files, filepath.Join(dir, "uv/uv.toml"))
	}
	return append(files, "/etc/uv/uv.toml")
}

// userConfigs returns the directory of a user's configuration files.
func userConfigs(s Settings) string {
	configs, home := s.Getenv("XDG_CONFIG_HOME"), s.Getenv("HOME")
	if configs == "" && home != "" {
		configs = filepath.Join(home, ".config")
	}
	return configs
}

// systemConfigs returns the directories of the system's configuration files.
func systemConfigs(s Settings) []string {
	return slices.DeleteFunc(filepath.SplitList(cmp.Or(s.Getenv("XDG_CONFIG_DIRS"), "/etc/xdg")),
		func(dir string) bool { return dir == "" })
}

// within returns a path that is taken from a directory.
func within(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// destinationOptions are the options that decide where packages go.
var destinationOptions = []string{"--target", "--prefix", "--root", "--user", "--python"}

// abbreviated returns an argument that pip may read as one of these options, or "". pip accepts any unambiguous
// abbreviation, and letters combined with a final -t.
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
