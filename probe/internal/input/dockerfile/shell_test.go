package dockerfile_test

import (
	"strings"
	"testing"

	"cudacompat/probe/internal/input"
	"cudacompat/probe/internal/input/document"
)

// installed returns the builds and what was not read of a Dockerfile on a plain image, in words.
func installed(t *testing.T, text string) (builds, unread string) {
	t.Helper()
	if !strings.Contains(text, "FROM python") && !strings.Contains(text, "FROM nvidia") {
		text = "FROM python:3.12\n" + text
	}
	f, err := input.Read(document.Document{Data: []byte(text + "\n")})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var list, left []string
	for _, env := range f.Environments {
		for _, b := range env.Builds {
			list = append(list, b.Name+strings.TrimSuffix(" "+b.Version, " ")+b.Specifier)
		}
	}
	for _, u := range f.Unread {
		left = append(left, u.Place)
	}
	return strings.Join(list, ", "), strings.Join(left, ", ")
}

// TestShell: what the commands of a RUN install, as the shell reads them.
func TestShell(t *testing.T) {
	const index = "--index-url https://download.pytorch.org/whl/cu130"
	for _, c := range []struct{ name, text, want string }{
		{"a heredoc with a continued line", "RUN <<EOF\npip install torch==2.9.0 \\\n" + index + "\nEOF", "torch 2.9.0+cu130"},
		{"its tabs left out", "RUN <<-EOF\n\tpip install \\\n\ttorch==2.9.0 " + index + "\n\tEOF", "torch 2.9.0+cu130"},
		{"an escaped quote", `RUN echo "say \"hi" && pip install torch==2.9.0 ` + index, "torch 2.9.0+cu130"},
		{"the second of two heredocs", "RUN <<A bash && <<B bash\necho one\nA\npip install torch==2.9.0 " + index + "\nB",
			"torch 2.9.0+cu130"},
		{"a heredoc of COPY is a text", "COPY <<EOF /x\nRUN pip install torch==2.9.0 " + index + "\nEOF", ""},
		{"and of ADD", "ADD <<EOF /x\nFROM a\nRUN pip install torch==2.9.0\nEOF", ""},
		{"what stands behind it is read", "COPY <<A <<B /x/\nA\nB\nB\nA\nA\nB\nRUN pip install torch==2.9.0", "torch 2.9.0"},
		{"another name quoted", "RUN <<\"END OF\"\npip install torch==2.9.0\nEND OF", "torch 2.9.0"},
		{"a heredoc of a program that installs nothing", "RUN cat <<EOF >/x\npip install torch==2.9.0\nEOF", ""},
		{"of Python", "RUN <<EOF\n#!/usr/bin/env python3\nimport torch\nEOF", ""},
		{"of a shell by its first line", "RUN <<EOF\n#!/bin/bash -e\npip install torch==2.9.0\nEOF", "torch 2.9.0"},
		{"into a shell by a pipe", "RUN cat <<EOF | bash\npip install torch==2.9.0\nEOF", "torch 2.9.0"},
		{"echo into a shell", `RUN echo "pip install torch==2.9.0" | sh`, "torch 2.9.0"},
		{"a shift is no heredoc", "RUN x=$((1<<2)); pip install torch==2.9.0", "torch 2.9.0"},
		{"a here-string is none", "RUN cat <<<x; pip install torch==2.9.0", "torch 2.9.0"},
		{"under ONBUILD", "ONBUILD RUN <<EOF\npip install torch==2.1.0\nEOF\nRUN pip install torch==2.9.0", "torch 2.9.0"},
		{"another escape", "# escape=`\nFROM python:3.12\nRUN pip install `\n  torch==2.9.0\nRUN echo C:\\\nRUN pip install jax==0.6.0",
			"torch 2.9.0, jax 0.6.0"},
		{"a comment ends the directives", "# hello\n# escape=`\nFROM python:3.12\nRUN pip install \\\n torch==2.9.0",
			"torch 2.9.0"},
		{"lines are joined as they stand", "RUN pip install tor\\\nch==2.9.0", "torch 2.9.0"},
		{"comments and blank lines between", "RUN pip install \\\n# why\n\n   # why else\n torch==2.9.0", "torch 2.9.0"},
		{"the escape is escaped", "RUN echo a \\\\\nRUN pip install torch==2.9.0", "torch 2.9.0"},
		{"white space behind it", "RUN pip install \\  \t\n torch==2.9.0", "torch 2.9.0"},
		{"a comment of the shell", "RUN pip install torch==2.9.0 # not jax==0.6.0", "torch 2.9.0"},
		{"no comment within a word", "RUN pip install torch==2.9.0#jax", ""},
		{"a variable for one command", "RUN PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cu126 pip install torch==2.9.0 && " +
			"pip install jax==0.6.0", "torch 2.9.0+cu126, jax 0.6.0"},
		{"exported", "RUN export UV_TORCH_BACKEND=cu128; uv pip install torch==2.9.0", "torch 2.9.0+cu128"},
		{"several words of one variable", `RUN P="torch==2.9.0 jax==0.6.0"; pip install $P`, "torch 2.9.0, jax 0.6.0"},
		{"quoted it is one", `RUN P="torch==2.9.0 "; pip install "$P"numpy`, ""},
		{"single quotes hold it", `RUN P=torch; pip install '$P'==2.9.0`, ""},
		{"an array", `RUN bash -c 'P=(torch==2.9.0 jax==0.6.0); P+=(numpy); pip install "${P[@]}"'`, "torch 2.9.0, jax 0.6.0"},
		{"a loop over words", "RUN for p in torch==2.9.0 jax==0.6.0; do pip install $p; done", "torch 2.9.0, jax 0.6.0"},
		{"a function", `RUN put() { pip install "$@"; }; put torch==2.9.0 jax==0.6.0`, "torch 2.9.0, jax 0.6.0"},
		{"one that is not called", "RUN put() { pip install torch==2.9.0; }; true", ""},
		{"one that calls itself", "RUN f() { pip install torch==2.9.0; f; }; f", "torch 2.9.0"},
		{"a part of a version", "ENV C=12.6.3\nRUN pip install torch==2.9.0+cu$(echo $C | cut -d. -f1,2 | tr -d .)",
			"torch 2.9.0+cu126"},
		{"by its place", "ENV C=12.6.3\nRUN pip install torch==2.9.0+cu${C:0:2}${C:3:1}", "torch 2.9.0+cu126"},
		{"arithmetic", "RUN [ 3 -gt 2 ] && pip install torch==2.9.0 || pip install torch==2.1.0", "torch 2.9.0"},
		{"one of two", "ARG A=y\nRUN if [ \"$A\" = x -o \"$A\" = y ]; then pip install torch==2.9.0; fi", "torch 2.9.0"},
		{"an expression", "ARG C=12.6\nRUN if [[ $C =~ ^12 && -n $C ]]; then pip install torch==2.9.0; fi", "torch 2.9.0"},
		{"nothing is a value", "ARG EXTRA=\nRUN pip install torch==2.9.0$EXTRA; [ -z \"$EXTRA\" ] || pip install jax==0.6.0",
			"torch 2.9.0"},
		{"eval", `RUN eval "pip install torch==2.9.0"`, "torch 2.9.0"},
		{"a subshell's variable", "RUN V=2.9.0; (V=2.1.0); pip install torch==$V", "torch 2.9.0"},
		{"requirements that the file writes", "RUN echo torch==2.9.0 >/r.txt && pip install -r /r.txt", "torch 2.9.0"},
		{"that COPY writes", "COPY <<EOF /a/r.txt\ntorch==2.9.0\nEOF\nRUN pip install -r /a/r.txt", "torch 2.9.0"},
		{"that come by a heredoc", "RUN pip install -r /dev/stdin <<EOF\ntorch==2.9.0\nEOF", "torch 2.9.0"},
		{"the list form puts nothing in", "ENV V=2.9.0\nRUN [\"pip\", \"install\", \"torch==$V\"]", ""},
		{"an ARG before FROM", "ARG V=2.9.0\nFROM python:3.12\nARG V\nRUN pip install torch==$V", "torch 2.9.0"},
		{"it is not there unless it is repeated", "ARG V=2.9.0\nFROM python:3.12\nRUN pip install torch==$V", ""},
		{"a stage has what its own image's has", "FROM python:3.12 AS a\nENV V=2.9.0\nFROM a\nRUN pip install torch==$V",
			"torch 2.9.0"},
		{"not another's", "FROM python:3.12 AS a\nENV V=2.9.0\nFROM python:3.12\nRUN pip install torch==$V", ""},
		{"ENV goes before ARG", "ENV V=2.9.0\nARG V=2.1.0\nRUN pip install torch==$V", "torch 2.9.0"},
		{"a default in a default", "RUN pip install torch==${A:-${B:-2.9.0}}", "torch 2.9.0"},
		{"ENV's old form", "ENV V 2.9.0\nRUN pip install torch==$V", "torch 2.9.0"},
		{"a dollar that is escaped", "ENV V=\\$x\nRUN pip install torch==2.9.0", "torch 2.9.0"},
		{"a pip below time", "RUN time sudo -E env A=b pip install torch==2.9.0", "torch 2.9.0"},
		{"an unknown wrapper", "RUN retry 5 pip install torch==2.9.0", "torch 2.9.0"},
	} {
		if got, _ := installed(t, c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestShellNotRead: what is left open is named, and nothing else is.
func TestShellNotRead(t *testing.T) {
	for text, want := range map[string]string{
		"RUN A=B ./start_linux.sh": "line 2: ./start_linux.sh",
		"RUN ./start_linux.sh":     "line 2: ./start_linux.sh",
		"RUN apt-get update && apt-get install -y git make zlib1g-dev cuda-toolkit-12-4":                   "",
		"FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get install -y git make zlib1g-dev":            "",
		"FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN A=1 sudo make":                                     "line 2: make",
		"RUN pip install torch==2.9.0 'unfinished":                                                         "line 2: a script",
		"RUN <<EOF\npip install torch==2.9.0":                                                              "line 2: <<EOF",
		"RUN echo 'unfinished":                                                                             "",
		"RUN pip install torch==$V":                                                                        "line 2: pip install torch==$V",
		"RUN for p in $LIST; do pip install $p; done":                                                      "line 2: pip install $p",
		"RUN " + strings.Repeat("pip install a;", 11000):                                                   "line 2: its commands",
		"RUN pip install a " + strings.Repeat("$(", 3000) + strings.Repeat(")", 3000):                      "line 2: a script",
		"RUN " + strings.Repeat("for i in 1 2 3 4 5 6 7 8 9; do ", 9) + "ls;" + strings.Repeat("done;", 9): "line 2: its commands",
	} {
		if _, got := installed(t, text); got != want {
			t.Errorf("%.80q: %q is named, want %q", text, got, want)
		}
	}
}
