package dockerfile

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/internal/input/dockerfile/installer"
	"cudacompat/probe/internal/input/dockerfile/shell"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/pyproject"
	"cudacompat/probe/internal/input/request"
	"cudacompat/probe/internal/input/requirements"
)

// byConfig is why the index of an installation is not known.
const byConfig = "it may choose another index or other releases, and it was not read"

var (
	// settingsFile matches the files of pip's and uv's settings.
	settingsFile = lazyregexp.New(`(?:^|/)(?:pip\.(?:conf|ini)|uv\.toml)$`)
	// secretSetting matches what a secret of a build can set: a variable of pip's or uv's, or a file of theirs.
	secretSetting = lazyregexp.New(`^(?:PIP|UV)_|(?:^|/)(?:pip\.(?:conf|ini)|uv\.toml)$`)
	// choosesBuild matches the other settings of pip that change what is installed.
	choosesBuild = lazyregexp.New(`^(?:constraint|requirement|platform|abi|implementation|python-version|only-binary|no-binary|pre)s?$`)
)

// noteSettings notes a file of the image that pip or uv reads its settings from.
func (f *dockerfile) noteSettings(name string) {
	if len(f.stages) == 0 || installer.WebAddress.MatchString(name) || !settingsFile.MatchString(name) {
		return
	}
	s := &f.stages[len(f.stages)-1]
	if name = f.absolutePath(name); !slices.Contains(s.settings, name) {
		s.settings = append(s.settings, name)
	}
}

// settings applies the files of pip's or of uv's settings in the image, and returns those that were not followed.
func (f *dockerfile) settings(r *requirements.File, by string) (left []string) {
	if len(f.stages) == 0 {
		return nil
	}
	list := f.stages[len(f.stages)-1].settings
	if by == "uv" && len(list) == 0 {
		list = []string{f.absolutePath("uv.toml")}
	}
	for _, name := range list {
		if isUV := path.Base(name) == "uv.toml"; isUV != (by == "uv") {
			continue
		}
		data, err := f.open(name, document.Lines)
		switch {
		case err != nil:
			if slices.Contains(f.stages[len(f.stages)-1].settings, name) {
				left = append(left, name)
			}
		case by == "uv":
			if pyproject.ChoosesBuilds(data) {
				left = append(left, name)
			}
		case !pipSettings(r, string(data)):
			left = append(left, name)
		}
	}
	return left
}

// pipSettings applies the sections of a pip.conf that hold for pip install. It returns false if a setting is not followed:
//
//	[global]
//	index-url = https://mirror.example/simple
//	extra-index-url =
//	    https://download.pytorch.org/whl/cu126
func pipSettings(r *requirements.File, text string) bool {
	applies, followed, key := false, true, ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		name, value, pair := strings.Cut(trimmed, "=")
		if !pair {
			name, value, pair = strings.Cut(trimmed, ": ")
		}
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
			continue
		case trimmed[0] == '[':
			applies, key = trimmed == "[global]" || trimmed == "[install]", ""
			continue
		case line[0] == ' ' || line[0] == '\t': // one more value of the same key
			value = trimmed
		case pair:
			key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
		}
		switch value = strings.TrimSpace(value); {
		case !applies || value == "":
		case key == "no-index" || key == "index-url" || key == "extra-index-url" || key == "find-links":
			for word := range strings.FieldsSeq(value) {
				followed = r.Option("--"+key+"="+word) && followed
			}
		case choosesBuild.MatchString(key):
			followed = false
		}
	}
	return followed
}

// noteConfig names the settings that decide which build of these packages is installed, and that were not read.
func (f *dockerfile) noteConfig(list []request.Package, files []string, number int) {
	if !slices.ContainsFunc(list, func(p request.Package) bool { return installer.IndexDecides.MatchString(p.Name) }) {
		return
	}
	for _, name := range configFiles {
		if v := f.value(name); v.Text != "" && v.Text != "/dev/null" {
			f.unread(name+"="+v.Text, byConfig, number)
		}
	}
	for _, name := range slices.Concat(files, f.secrets) {
		f.unread(name, byConfig, number)
	}
}

// configFiles are the variables that name files which change what pip and uv install.
var configFiles = []string{"UV_OVERRIDE", "UV_CONFIG_FILE", "PIP_CONFIG_FILE"}

// configure keeps the index that "pip config set global.index-url" names, as the variable of the same meaning does.
func (f *dockerfile) configure(list []string) {
	i := slices.Index(list, "config")
	if i < 1 || !installer.PipName.MatchString(path.Base(list[i-1])) {
		return
	}
	words := slices.DeleteFunc(slices.Clone(list[i+1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(words) < 3 || words[0] != "set" {
		return
	}
	_, key, _ := strings.Cut(strings.ReplaceAll(words[1], "_", "-"), ".")
	if slices.Contains([]string{"index-url", "extra-index-url", "find-links", "constraint", "requirement"}, key) {
		f.values["PIP_"+strings.ToUpper(strings.ReplaceAll(key, "-", "_"))] = shell.ValueOf(words[2])
	}
}
