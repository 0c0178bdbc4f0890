package probe

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/host/imagetest"
)

// TestImageStarts checks that an image's configuration shows which environment starts, and what it imports: PYTHONPATH,
// and the user's own packages, whose home is in the image's /etc/passwd.
func TestImageStarts(t *testing.T) {
	const venv, user = "opt/venv/lib/python3.12/site-packages/", "home/app/.local/lib/python3.12/site-packages/"
	torch := func(version string) string { return "__version__ = '" + version + "+cu126'\ncuda = '12.6'\n" }
	files := []imagetest.File{
		imagetest.Text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nno line\napp:x:1000:1000::/home/app:/bin/sh\nodd:x:7:7::home:/bin/sh\n"),
		imagetest.Text("usr/bin/python3.12", ""), imagetest.Link("usr/bin/python3", "python3.12"), imagetest.Text("usr/lib/python3.12/os.py", ""),
		imagetest.Text("usr/local/lib/python3.12/dist-packages/torch/version.py", torch("2.5.0")),
		imagetest.Text("opt/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n"), imagetest.Link("opt/venv/bin/python3", "/usr/bin/python3.12"),
		imagetest.Text(venv+"torch/version.py", torch("2.6.0")),
		imagetest.Text(user+"torch/version.py", torch("2.7.0")), imagetest.Text("opt/more/torch/version.py", torch("2.8.0")),
	}
	type config = map[string]any
	for name, c := range map[string]struct {
		says config
		want string
	}{
		"nothing":     {config{}, "/usr by python3 on PATH: 2.5.0, HOME=/root"},
		"PATH":        {config{"Env": []string{"PATH=/opt/venv/bin:/usr/bin"}}, "/opt/venv by python3 on PATH: 2.6.0, HOME=/root"},
		"VIRTUAL_ENV": {config{"Env": []string{"VIRTUAL_ENV=/opt/venv"}}, "/opt/venv by VIRTUAL_ENV: 2.6.0, HOME=/root"},
		"entrypoint":  {config{"Entrypoint": []string{"/opt/venv/bin/python3", "-m", "x"}}, "/opt/venv by what the image starts: 2.6.0, HOME=/root"},
		"user":        {config{"User": "app"}, "/usr by python3 on PATH: 2.7.0, HOME=/home/app"},
		"number":      {config{"User": "1000:100"}, "/usr by python3 on PATH: 2.7.0, HOME=/home/app"},
		"no passwd":   {config{"User": "1234"}, "/usr by python3 on PATH: 2.5.0, HOME=/"},
		"no home":     {config{"User": "odd"}, "/usr by python3 on PATH: 2.5.0, HOME=/"},
		"HOME":        {config{"User": "app", "Env": []string{"HOME=/root"}}, "/usr by python3 on PATH: 2.5.0, HOME=/root"},
		"PYTHONPATH":  {config{"Env": []string{"PYTHONPATH=more"}, "WorkingDir": "/opt"}, "/usr by python3 on PATH: 2.8.0, HOME=/root"},
	} {
		made := imagetest.Image{Packed: "gzip", Layers: [][]byte{imagetest.Tar(t, files)}, Config: map[string]any{"config": c.says}}
		i, err := OpenImage(t.Context(), bytes.NewReader(imagetest.Tar(t, made.OCI(t))), ImageOptions{})
		hosttest.Must(t, err)
		f := RunImage(t.Context(), i, Options{})
		got := ""
		for _, e := range f.Environments {
			if e.Active && len(e.Builds) > 0 {
				got += fmt.Sprintf("%s by %s: %s, HOME=%s", e.Path, strings.TrimPrefix(e.Found, "active by "),
					strings.TrimSuffix(e.Builds[0].Version, "+cu126"), imageHost(i).Env["HOME"])
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		i.Close()
	}
}
