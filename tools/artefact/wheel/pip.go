package wheel

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Pip is where pip keeps its configuration.
type Pip struct {
	Getenv func(string) string
	Files  []string      // configuration files, the last one wins
	Help   func() string // what `pip install --help` prints
}

// ThisPip returns the configuration of the pip that this user runs.
func ThisPip() Pip {
	return Pip{os.Getenv, pipFiles(os.Getenv), func() string {
		out, err := exec.Command("python3", "-m", "pip", "install", "--help").Output()
		if err != nil {
			return ""
		}
		return string(out)
	}}
}

// pipFiles returns pip's configuration files in the order in which pip reads them: the system's, the user's, the
// environment's, and the one in PIP_CONFIG_FILE. If that variable is /dev/null there are none.
func pipFiles(getenv func(string) string) []string {
	named := getenv("PIP_CONFIG_FILE")
	if named == os.DevNull {
		return nil
	}
	files := []string{"/etc/xdg/pip/pip.conf", "/etc/pip.conf"}
	if home := getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".pip/pip.conf"))
		if getenv("XDG_CONFIG_HOME") == "" {
			files = append(files, filepath.Join(home, ".config/pip/pip.conf"))
		}
	}
	if config := getenv("XDG_CONFIG_HOME"); config != "" {
		files = append(files, filepath.Join(config, "pip/pip.conf"))
	}
	if env := getenv("VIRTUAL_ENV"); env != "" {
		files = append(files, filepath.Join(env, "pip.conf"))
	}
	if named != "" {
		files = append(files, named)
	}
	return files
}

// helpDefault matches, in pip's help, "Base URL of the Python Package Index (default https://…)", which it wraps.
var helpDefault = regexp.MustCompile(`--index-url[^(]*\(default\s+(https?://[^\s)]+)\)`)

// Index returns the index that pip would use: PIP_INDEX_URL, otherwise index-url from its files, otherwise its own
// default, which only pip knows.
func (p Pip) Index() (string, error) {
	if address := p.Getenv("PIP_INDEX_URL"); address != "" {
		return address, nil
	}
	address := ""
	for _, name := range p.Files {
		if set := pipSetting(name, "index-url"); set != "" {
			address = set
		}
	}
	if address != "" {
		return address, nil
	}
	if m := helpDefault.FindStringSubmatch(p.Help()); m != nil {
		return m[1], nil
	}
	return "", errors.New("pip's configuration names no package index, and pip itself could not be asked; give " +
		"--index or set PIP_INDEX_URL")
}

// pipSetting returns a setting of the [global] section in one of pip's files; empty when it is not there.
//
//	[global]
//	index-url = https://example.com/simple
func pipSetting(name, setting string) string {
	f, err := os.Open(name)
	if err != nil {
		return "" // most of the files are not there
	}
	defer f.Close()
	section, value := "", ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		if i := strings.IndexAny(line, "=:"); i > 0 && section == "global" && !strings.HasPrefix(line, "#") {
			key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(line[:i])), "_", "-")
			if key == setting {
				value = strings.TrimSpace(line[i+1:])
			}
		}
	}
	return value
}
