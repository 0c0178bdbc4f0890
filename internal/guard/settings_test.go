package guard

import (
	"strings"
	"testing"
)

// TestDestination checks where settings direct packages, and which settings are not followed.
func TestDestination(t *testing.T) {
	for _, c := range []struct {
		command, vars, file, text string
		want                      Destination
	}{
		{command: "pip install torch"},
		{command: "pip install torch", vars: "PIP_TARGET=/tgt", want: Destination{Into: "/tgt"}},
		{command: "pip install torch --target x", vars: "PIP_TARGET=/tgt PIP_PREFIX=/p"},
		{command: "pip install -tx torch", vars: "PIP_TARGET=/tgt"},
		{command: "pip uninstall torch", vars: "PIP_TARGET=/tgt"},
		{command: "pip install torch", vars: "PIP_PYTHON=/v", want: Destination{Python: "/v"}},
		{command: "pip --python /w install torch", vars: "PIP_PYTHON=/v"},
		{command: "pip install torch", vars: "PIP_PREFIX=/p", want: Destination{Unknown: "PIP_PREFIX"}},
		{command: "pip install torch", vars: "PIP_ROOT=/p", want: Destination{Unknown: "PIP_ROOT"}},
		{command: "pip install torch", vars: "PIP_USER=1", want: Destination{Unknown: "PIP_USER"}},
		{command: "pip install torch", vars: "PIP_USER=no"},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[global]\nindex-url = x\nuser = true\n", want: Destination{Unknown: "user of /etc/pip.conf"}},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[install]\nuser = false\n"},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[download]\ntarget = x\n"},
		{command: "pip install torch", vars: "HOME=/h", file: "/h/.config/pip/pip.conf", text: "[install]\ntarget: /x\n", want: Destination{Unknown: "target of /h/.config/pip/pip.conf"}},
		{command: "pip install torch", vars: "VIRTUAL_ENV=/v", file: "/v/pip.conf", text: "[global]\nprefix=/x\n", want: Destination{Unknown: "prefix of /v/pip.conf"}},
		{command: "pip install torch", vars: "PIP_CONFIG_FILE=c", file: "/d/e/c", text: "[global]\nroot=/x\n", want: Destination{Unknown: "root of /d/e/c"}},
		{command: "pip install torch", vars: "PIP_CONFIG_FILE=/dev/null", file: "/etc/pip.conf", text: "[global]\nroot=/x\n"},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[install] ; mine\n  --Prefix : /x\n", want: Destination{Unknown: "prefix of /etc/pip.conf"}},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[install]\ntarget =\n  /x\n", want: Destination{Unknown: "target of /etc/pip.conf"}},
		{command: "uv pip install torch", file: "/d/uv.toml", text: "[ \"pip\" ] # mine\n\"target\" = \"x\"\n", want: Destination{Unknown: "target of /d/uv.toml"}},
		{command: "uv pip install torch", file: "/d/e/pyproject.toml", text: "[tool . uv . pip]\n'prefix' = 'x'\n", want: Destination{Unknown: "prefix of /d/e/pyproject.toml"}},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[install]\n  [other]\ntarget = /x\n", want: Destination{}},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[install]\nindex-url = x\n  [other]\ntarget = /x\n", want: Destination{Unknown: "target of /etc/pip.conf"}},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[other]\na = b\n  [install]\ntarget = /x\n"},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[DEFAULT]\ntarget = /x\n[install]\npre = 1\n", want: Destination{Unknown: "target of /etc/pip.conf"}},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[DEFAULT]\ntarget = /x\n"},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[global]\nuser = true\n[install]\nuser = false\n"},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[global]\nuser = true\n[install]\nuser =\n", want: Destination{Unknown: "user of /etc/pip.conf"}},
		{command: "pip install torch", file: "/etc/pip.conf", text: "[global]\n# target = /x\nindex-url = y\n  target = /x\n"},
		{command: "pip install torch", file: "/etc/pip.conf", text: "target = /x\n", want: Destination{Unknown: "/etc/pip.conf, which cannot be read,"}},
		{command: "pip install torch", vars: "XDG_CONFIG_DIRS=/a:/b", file: "/b/pip/pip.conf", text: "[global]\ntarget=/x\n", want: Destination{Unknown: "target of /b/pip/pip.conf"}},
		{command: "pip install torch", vars: "XDG_CONFIG_DIRS=/a", file: "/etc/xdg/pip/pip.conf", text: "[global]\ntarget=/x\n"},
		{command: "pip install torch", vars: "PREFIX=/prefix", file: "/prefix/pip.conf", text: "[global]\ntarget=/x\n", want: Destination{Unknown: "target of /prefix/pip.conf"}},
		{command: "uv pip install torch", file: "/d/uv.toml", text: "pip = {no-deps = true,\n target = \"/x\"}\n", want: Destination{Unknown: "target of /d/uv.toml"}},
		{command: "uv pip install torch", file: "/d/uv.toml", text: "[pip]\nx = \"\"\"\n[other]\n\"\"\"\ntarget = \"/x\"\n", want: Destination{Unknown: "target of /d/uv.toml"}},
		{command: "uv pip install torch", file: "/d/uv.toml", text: "[other]\nx = \"\"\"\n[pip]\ntarget = 1\n\"\"\"\n"},
		{command: "uv pip install torch", vars: "UV_PROJECT=p", file: "/d/e/p/uv.toml", text: "[pip]\ntarget = 'x'\n", want: Destination{Unknown: "target of /d/e/p/uv.toml"}},
		{command: "uv --project q pip install torch", vars: "UV_PROJECT=p", file: "/d/e/p/uv.toml", text: "[pip]\ntarget = 'x'\n"},
		{command: "uv pip install torch", vars: "UV_WORKING_DIR=/w", file: "/w/uv.toml", text: "[pip]\ntarget = 'x'\n", want: Destination{Unknown: "target of /w/uv.toml"}},
		{command: "uv pip install torch", vars: "UV_WORKING_DIR=/w UV_PROJECT=p", file: "/w/p/uv.toml", text: "[pip]\ntarget = 'x'\n", want: Destination{Unknown: "target of /w/p/uv.toml"}},
		{command: "uv pip install torch", vars: "UV_WORKING_DIR=/w UV_CONFIG_FILE=c", file: "/w/c", text: "[pip]\ntarget = 'x'\n", want: Destination{Unknown: "target of /w/c"}},
		{command: "uv pip install torch", vars: "UV_NO_CONFIG=1 UV_CONFIG_FILE=/c", file: "/c", text: "[pip]\ntarget = 'x'\n", want: Destination{Unknown: "target of /c"}},
		{command: "uv --directory /v pip install torch", vars: "UV_WORKING_DIR=/w", file: "/w/uv.toml", text: "[pip]\ntarget = 'x'\n"},
		{command: "uv pip install torch", file: "/d/uv.toml", text: "[pip]\ntarget = \n", want: Destination{Unknown: "/d/uv.toml, which cannot be read,"}},
		{command: "uv pip install torch", file: "/d/e/pyproject.toml", text: "tool.uv.pip.prefix = \"/x\"\n", want: Destination{Unknown: "prefix of /d/e/pyproject.toml"}},
		{command: "uv pip install torch", vars: "UV_NO_CONFIG=1", file: "/d/uv.toml", text: "[pip]\ntarget = \"x\"\n"},
		{command: "uv pip install --no-config torch", file: "/d/uv.toml", text: "[pip]\ntarget = \"x\"\n"},
		{command: "uv --config-file /u pip install torch", file: "/u", text: "[pip]\ntarget = \"x\"\n", want: Destination{Unknown: "target of /u"}},
		{command: "uv --directory f pip install torch", file: "/d/e/f/uv.toml", text: "[pip]\ntarget = \"x\"\n", want: Destination{Unknown: "target of /d/e/f/uv.toml"}},
		{command: "uv pip install torch", vars: "XDG_CONFIG_DIRS=/a", file: "/a/uv/uv.toml", text: "[pip]\ntarget = \"x\"\n", want: Destination{Unknown: "target of /a/uv/uv.toml"}},
		{command: "uv pip install torch", vars: "PIP_TARGET=/tgt"},
		{command: "uv pip install torch", file: "/d/uv.toml", text: "[pip]\ntarget = \"x\"\n", want: Destination{Unknown: "target of /d/uv.toml"}},
		{command: "uv pip install torch", file: "/d/e/uv.toml", text: "pip = { no-deps = true, prefix = \"x\" }\n", want: Destination{Unknown: "prefix of /d/e/uv.toml"}},
		{command: "uv pip install torch", file: "/d/e/pyproject.toml", text: "[tool.uv.pip]\ntarget = \"x\"\n", want: Destination{Unknown: "target of /d/e/pyproject.toml"}},
		{command: "uv pip install torch", file: "/d/e/pyproject.toml", text: "[tool.black]\ntarget = \"x\"\n[pip]\ntarget = 1\n"},
		{command: "uv pip install torch", vars: "UV_CONFIG_FILE=/u", file: "/u", text: "[pip]\ntarget = \"x\"\n", want: Destination{Unknown: "target of /u"}},
		{command: "uv pip install torch --target y", file: "/d/uv.toml", text: "[pip]\ntarget = \"x\"\n"},
	} {
		command, err := Parse(strings.Fields(c.command))
		if err != nil {
			t.Fatal(err)
		}
		vars := map[string]string{}
		for _, word := range strings.Fields(c.vars) {
			name, value, _ := strings.Cut(word, "=")
			vars[name] = value
		}
		got := command.Destination(Settings{Dir: "/d/e", Prefix: vars["PREFIX"], Getenv: func(name string) string { return vars[name] },
			Read: func(file string) []byte {
				if file == c.file {
					return []byte(c.text)
				}
				return nil
			}})
		if got != c.want {
			t.Errorf("%s, %s, %s: %+v, want %+v", c.command, c.vars, c.file, got, c.want)
		}
	}
}

// TestAbbreviated refuses what pip takes for an option that says where packages go.
func TestAbbreviated(t *testing.T) {
	for command, refused := range map[string]bool{
		"pip install --targ x torch":       true,
		"pip install --tar=x torch":        true,
		"pip install --prefi=x torch":      true,
		"pip install --use torch":          true,
		"pip install -Ut x torch":          true,
		"pip install -qUtx torch":          true,
		"uv pip install -Ut x torch":       true,
		"pip install --pre torch":          false,
		"pip install -U torch":             false,
		"pip install -rtest.txt":           false,
		"pip install -r -Ut":               false,
		"pip install --target x torch":     false,
		"pip install --timeout 5 torch":    false,
		"pip install --trusted-host x a":   false,
		"pip install -tx torch":            false,
		"uv pip install -p3.12t torch":     false,
		"uv pip install --upgrade torch":   false,
		"pip install --upgrade-strategy a": false,
	} {
		_, err := Parse(strings.Fields(command))
		if got := err != nil && strings.Contains(err.Error(), "write out the option"); got != refused {
			t.Errorf("%s: %v", command, err)
		}
	}
	c, _ := Parse([]string{"pip", "install", "-t/x", "torch"})
	if c.Into() != "/x" {
		t.Errorf("-t/x goes to %q", c.Into())
	}
}

// TestWorkingDir names the directory from which uv takes relative paths: that of its option, then of its variables.
func TestWorkingDir(t *testing.T) {
	vars := map[string]string{"UV_WORKING_DIR": "w", "UV_WORKING_DIRECTORY": "/old"}
	for command, want := range map[string]string{"uv sync": "/d/w", "uv --directory ../x sync": "/x", "uv sync --directory=/y": "/y", "pip install torch": "/d"} {
		c, err := Parse(strings.Fields(command))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.WorkingDir(Settings{Dir: "/d", Getenv: func(name string) string { return vars[name] }}); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
	if _, err := Parse(strings.Fields("uv sync --script s.py")); err == nil {
		t.Error("uv sync --script is understood, and changes an environment that is not named")
	}
}
