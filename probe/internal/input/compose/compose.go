// Package compose reads the compose files of Docker and Podman: each service is judged as the Dockerfile that it would be,
// its image or its build with what its command installs.
package compose

import (
	"fmt"
	"path"
	"path/filepath"
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
	PostStart  []struct {
		Command any `yaml:"command"`
	} `yaml:"post_start"`
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
	variables := environmentFile(d)
	for _, name := range document.SortedKeys(file.Services) {
		one, err := readService(d, file.Services[name], variables)
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
func readService(d document.Document, s service, variables map[string]string) (facts.Facts, error) {
	text, beside := "", d.Beside
	b := buildOf(s.Build, variables)
	switch {
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
		image, open := expand(s.Image, variables)
		if open {
			return facts.Facts{Unread: []facts.Unread{{Place: "image " + s.Image, Kind: facts.UnreadNeeded,
				Reason: "the file does not say what the variable is"}}}, nil
		}
		text = "FROM " + image + "\n"
	default:
		return facts.Facts{}, nil
	}
	commands := []string{shellOf(s.Entrypoint), shellOf(s.Command)}
	for _, hook := range s.PostStart {
		commands = append(commands, shellOf(hook.Command))
	}
	var left []facts.Unread
	for _, command := range commands {
		if b.how.Target != "" && installing.MatchString(command) { // it would stand below another stage
			left = append(left, facts.Unread{Place: command, Reason: "what it installs over the target " + b.how.Target + " is not followed",
				Kind: facts.UnreadNeeded})
			continue
		}
		if installing.MatchString(command) {
			text += "RUN " + strings.ReplaceAll(strings.TrimSpace(command), "\n", " \\\n") + "\n"
		}
	}
	f, err := dockerfile.ReadBuild(document.Document{Data: []byte(text), Beside: beside}, b.how)
	f.Unread = append(f.Unread, left...)
	return f, err
}

func open(d document.Document, name string) ([]byte, error) {
	if d.Beside == nil {
		return nil, fmt.Errorf("standard input has no files beside it")
	}
	return d.Beside(name)
}

// build is how a service is built.
type build struct {
	context, file, inline string
	how                   dockerfile.Build
}

// buildOf reads the short form, a directory, and the long one.
func buildOf(value any, variables map[string]string) build {
	b := build{context: ".", file: "Dockerfile"}
	switch v := value.(type) {
	case string:
		b.context = v
	case map[string]any:
		for key, to := range map[string]*string{"context": &b.context, "dockerfile": &b.file, "dockerfile_inline": &b.inline,
			"target": &b.how.Target} {
			if text, ok := v[key].(string); ok && text != "" {
				*to = text
			}
		}
		b.how.Target, _ = expand(b.how.Target, variables)
		b.how.Args = pairsOf(v["args"], variables)
		b.how.Contexts = pairsOf(v["additional_contexts"], variables)
		for name, context := range b.how.Contexts {
			if from, err := filepath.Rel(b.context, context); err == nil && !strings.Contains(context, "://") { // as Beside opens it
				b.how.Contexts[name] = filepath.ToSlash(from)
			}
		}
	}
	return b
}

// pairsOf reads a mapping, or a list of NAME=VALUE. A name without a value has that of the file .env.
func pairsOf(value any, variables map[string]string) map[string]string {
	pairs := map[string]string{}
	table, _ := value.(map[string]any)
	for name, value := range table {
		if value == nil {
			if given, ok := variables[name]; ok {
				pairs[name] = given
			}
			continue
		}
		pairs[name], _ = expand(fmt.Sprint(value), variables)
	}
	list, _ := value.([]any)
	for _, item := range document.Texts(list) {
		name, text, ok := strings.Cut(item, "=")
		given, set := variables[name]
		switch {
		case ok:
			pairs[name], _ = expand(text, variables)
		case set:
			pairs[name] = given
		}
	}
	return pairs
}

// environmentFile returns the variables of the file .env beside a compose file, which go before the defaults in it.
func environmentFile(d document.Document) map[string]string {
	variables := map[string]string{}
	if d.Beside == nil {
		return variables
	}
	data, err := d.Beside(".env")
	if err != nil {
		return variables
	}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if quoted := value != "" && (value[0] == '"' || value[0] == '\''); quoted {
			value, _, _ = strings.Cut(value[1:], value[:1])
		} else {
			value, _, _ = strings.Cut(value, " #")
			value = strings.TrimSpace(value)
		}
		variables[strings.TrimSpace(name)] = value
	}
	return variables
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

var variable = lazyregexp.New(`\$(?:(\w+)|\{(\w+)(?:(:?[-+?])([^}]*))?\})`)

// expand puts in the values of variables, else their defaults. open is true where one has neither.
func expand(text string, variables map[string]string) (expanded string, open bool) {
	expanded = variable.ReplaceAllStringFunc(text, func(found string) string {
		m := variable.FindStringSubmatch(found)
		value, set := variables[m[1]+m[2]]
		set = set && (value != "" || !strings.HasPrefix(m[3], ":"))
		switch strings.TrimPrefix(m[3], ":") {
		case "+":
			if set {
				return m[4]
			}
			return ""
		case "-":
			if set {
				return value
			}
			open = open || m[4] == ""
			return m[4]
		}
		open = open || !set
		return value
	})
	return expanded, open
}
