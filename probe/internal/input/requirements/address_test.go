package requirements

import (
	"strings"
	"testing"

	"cudacompat/probe/internal/input/document"
)

// TestAddressName checks what an address without a preceding name installs.
func TestAddressName(t *testing.T) {
	type answer struct {
		name string
		said bool
	}
	for address, want := range map[string]answer{
		"git+https://github.com/vllm-project/vllm.git":               {"vllm", false},
		"git+https://github.com/Dao-AILab/flash-attention@v2.8.3":    {"flash-attention", false},
		"git+ssh://git@example.com/a/b.git@main#egg=xformers&x=1":    {"xformers", true},
		"https://example.com/flash_attn-2.8.3.tar.gz":                {"flash_attn", false},
		"https://example.com/flash_attn-2.8.3+cu12torch2.8-x.whl#s=": {"flash_attn", true},
		".[dev]": {}, "./vllm[audio]": {"vllm", false}, "src/apex": {"apex", false}, "./vllm/": {"vllm", false}, ".": {}, "..": {}, "../": {},
		"/src/apex": {"apex", false}, "sgl_kernel-0.3.1.zip": {"sgl_kernel", false},
	} {
		if name, said := addressName(address); name != want.name || said != want.said {
			t.Errorf("%s: %q and %v, want %q and %v", address, name, said, want.name, want.said)
		}
	}
}

// TestUnnamedAddress notes what may hold any package, however it is spelled, and nothing that names its package.
func TestUnnamedAddress(t *testing.T) {
	for _, line := range []string{"git+https://example.com/foo/bar", "git+ssh://git@example.com/foo/bar.git@v1", "-e git+https://example.com/bar",
		"https://example.com/bar/archive/main.zip", "https://example.com/bar-1.0.tar.gz", "bar.tar.gz", "/opt/bar", "/opt/bar/", "-e /opt/bar",
		"file:///opt/bar", "-e file:///opt/bar", "file:/opt/bar-1.0.zip", "/opt/bar ; python_version > '3'",
		"# coding: utf-7\n# +AAo-torch", "#!/x\n# vim: fileencoding=rot13"} {
		if _, unread := parseRequirements(document.Document{Data: []byte("numpy\n" + line + "\n")}); len(unread) != 1 && !strings.HasPrefix(line, "#") {
			t.Errorf("%s: %d places were not looked at, want one", line, len(unread))
		}
		if _, unread := parseRequirements(document.Document{Data: []byte(line + "\n")}); len(unread) != 1 {
			t.Errorf("%s alone: %d places were not looked at, want one", line, len(unread))
		}
	}
	for _, line := range []string{"bar @ git+https://example.com/foo/bar", "bar @ file:///opt/bar", "git+https://example.com/foo#egg=bar",
		"-e git+https://example.com/foo@0a1b#egg=bar", "/opt/bar-1.0-py3-none-any.whl", "https://example.com/bar-1.0-py3-none-any.whl",
		"# Editable install with no version control (bar==1.0)\n-e /opt/bar", "# -*- coding: utf-8 -*-", "# coding=latin-1"} {
		if _, unread := parseRequirements(document.Document{Data: []byte(line + "\nnumpy\n")}); len(unread) != 0 {
			t.Errorf("%s: %v was not looked at", line, unread)
		}
	}
}
