// Package compose reads the compose files of Docker and Podman: each service is judged as the Dockerfile that it would be,
// its image or its build with what its command installs.
package compose

import (
	"fmt"
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/dockerfile"
	"cudacompat/probe/internal/input/document"

	"go.yaml.in/yaml/v4"
)

var servicesKey = lazyregexp.New(`(?m)^services:[ \t]*(?:#.*)?$`)

// Is recognises a compose file by its services, which have an image or a build.
func Is(d document.Document) bool {
	return servicesKey.Match(d.Data) && serviceKey.Match(d.Data)
}

var serviceKey = lazyregexp.New(`(?m)^[ \t]+(?:image|build):`)

// service is what of a service says which packages are in it.
type service struct {
	Image      string `yaml:"image"`
	Build      any    `yaml:"build"` // a directory, or a mapping
	Command    any    `yaml:"command"`
	Entrypoint any    `yaml:"entrypoint"`
}

// Read reads a compose file:
//
//	services:
//	  vllm:
//	    image: vllm/vllm-openai:v0.6.3
//	  app:
//	    build: {context: ., dockerfile: docker/app.Dockerfile}
func Read(d document.Document) (facts.Facts, error) {
	var file struct {
		Services map[string]service `yaml:"services"`
	}
	if err := yaml.Unmarshal(d.Data, &file); err != nil {
		return facts.Facts{}, fmt.Errorf("not valid YAML: %s",
			strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: "))
	}
	var f facts.Facts
	for _, name := range document.SortedKeys(file.Services) {
		one, err := readService(d, name, file.Services[name])
		if err != nil {
			return f, err
		}
		for _, env := range one.Environments {
			env.Path = strings.TrimSuffix("service "+name+", "+env.Path, ", ")
			f.Environments = append(f.Environments, env)
		}
		for _, u := range one.Unread {
			u.Place = "service " + name + ", " + u.Place
			f.Unread = append(f.Unread, u)
		}
	}
	for i := range f.Environments {
		f.Environments[i].Active = true // all of them run
	}
	return f, nil
}

// readService reads the Dockerfile that a service is built by, else the one that its image would be.
func readService(d document.Document, name string, s service) (facts.Facts, error) {
	text, beside := "", d.Beside
	switch b := buildOf(s.Build); {
	case s.Build != nil && b.inline != "":
		text = b.inline + "\n"
	case s.Build != nil:
		file := path.Join(b.context, b.file)
		data, err := open(d, file)
		if err != nil {
			return facts.Facts{Unread: []facts.Unread{{Place: file, Reason: err.Error(), Kind: facts.UnreadNeeded}}}, nil
		}
		text = string(data) + "\n"
		beside = func(name string) ([]byte, error) { return d.Beside(path.Join(b.context, name)) }
	case s.Image != "":
		image, open := expand(s.Image)
		if open {
			return facts.Facts{Unread: []facts.Unread{{Place: "image " + s.Image, Kind: facts.UnreadNeeded,
				Reason: "the file does not say what the variable is"}}}, nil
		}
		text = "FROM " + image + "\n"
	default:
		return facts.Facts{}, nil
	}
	for _, command := range []string{shellOf(s.Entrypoint), shellOf(s.Command)} {
		if installing.MatchString(command) {
			text += "RUN " + strings.ReplaceAll(strings.TrimSpace(command), "\n", " \\\n") + "\n"
		}
	}
	return dockerfile.Read(document.Document{Data: []byte(text), Beside: beside})
}

func open(d document.Document, name string) ([]byte, error) {
	if d.Beside == nil {
		return nil, fmt.Errorf("standard input has no files beside it")
	}
	return d.Beside(name)
}

// build is how a service is built.
type build struct{ context, file, inline string }

// buildOf reads the short form, a directory, and the long one.
func buildOf(value any) build {
	b := build{context: ".", file: "Dockerfile"}
	switch v := value.(type) {
	case string:
		b.context = v
	case map[string]any:
		for key, to := range map[string]*string{"context": &b.context, "dockerfile": &b.file, "dockerfile_inline": &b.inline} {
			if text, ok := v[key].(string); ok && text != "" {
				*to = text
			}
		}
	}
	return b
}

// installing matches commands that install packages when the service starts.
var installing = lazyregexp.New(`\b(?:pip3?|uv|conda|mamba|micromamba|poetry)\s+(?:\S+\s+)?(?:install|sync|add)\b`)

// shellOf returns what a command gives a shell: its text, or the last word of ["bash", "-c", "…"].
func shellOf(value any) string {
	switch v := value.(type) {
	case string:
		return strings.TrimPrefix(strings.TrimPrefix(strings.Trim(v, "\n "), "bash -c "), "sh -c ")
	case []any:
		words := document.Texts(v)
		if len(words) > 2 && strings.HasPrefix(words[len(words)-2], "-") && strings.Contains(words[len(words)-2], "c") {
			return words[len(words)-1]
		}
		return strings.Join(words, " ")
	}
	return ""
}

var variable = lazyregexp.New(`\$\{?(\w+)(?::?-([^}]*))?\}?`)

// expand replaces variables by their defaults, and reports whether one has none.
func expand(text string) (expanded string, open bool) {
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		open = open || m[2] == ""
		text = strings.ReplaceAll(text, m[0], m[2])
	}
	return text, open
}
