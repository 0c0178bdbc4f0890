package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"cudacompat/internal/redact"
	"cudacompat/internal/usage"

	"go.yaml.in/yaml/v4"
)

// yamlDocument parses a YAML file node by node, so that every error has its line and nothing is ignored: no unknown key, no
// repeated key, no second document. It rejects anchors and aliases.
type yamlDocument struct{ name string }

// reject returns the error for a node.
func (d yamlDocument) reject(n *yaml.Node, message, hint string) error {
	return &lineError{&usage.Error{Message: fmt.Sprintf("%q, line %d: %s", d.name, n.Line, message), Hint: hint}, n.Line}
}

// lineError is a mistake in one line of a file.
type lineError struct {
	error
	line int
}

func (e *lineError) Unwrap() error { return e.error }

// parseRoot returns the node of the only document, or nil for an empty file.
func (d yamlDocument) parseRoot(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, &usage.Error{Message: fmt.Sprintf("%q is not YAML: %s", d.name, oneLine(err)),
			Hint: "examples/cudacompat.yaml is one that can be read"}
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, d.reject(&first, "the file holds more than one document", "keep the first, and no line --- after it")
	}
	if first.Kind != yaml.DocumentNode || len(first.Content) != 1 {
		return nil, nil
	}
	return first.Content[0], nil
}

// oneLine returns an error of the YAML parser without line breaks, and with quoted text made safe for a terminal.
func oneLine(err error) string {
	return strings.TrimPrefix(redact.Line(err.Error()), "yaml: ")
}

// parseMapping parses a node with known keys.
func (d yamlDocument) parseMapping(n *yaml.Node, fields map[string]func(*yaml.Node) error) error {
	return d.parsePairs(n, func(key, value *yaml.Node) error {
		read := fields[key.Value]
		if read == nil {
			known := slices.Sorted(maps.Keys(fields))
			return d.reject(key, fmt.Sprintf("%q is not a known key", key.Value), usage.Suggest(key.Value, known))
		}
		return read(value)
	})
}

// parsePairs parses a node of keys and values, each key once.
func (d yamlDocument) parsePairs(n *yaml.Node, read func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return d.reject(n, "keys with their values are wanted here, not "+kindName(n), `write "key: value"`)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return d.reject(key, "a key is one word, not "+kindName(key), "")
		}
		if seen[key.Value] {
			return d.reject(key, fmt.Sprintf("the key %q is here twice", key.Value), "keep one of them")
		}
		seen[key.Value] = true
		if err := read(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// parseList parses a node that is a list.
func (d yamlDocument) parseList(n *yaml.Node, read func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return d.reject(n, "a list is wanted here, not "+kindName(n), `write "[a, b]", or a line "- a" for each`)
	}
	for _, item := range n.Content {
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

// parseText returns a scalar as written, whatever type YAML gives it.
func (d yamlDocument) parseText(n *yaml.Node, text *string) error {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return d.reject(n, "a text is wanted here, not "+kindName(n), `write it between quotes: "text"`)
	}
	*text = n.Value
	return nil
}

// parseWord returns a scalar that must be one of the known words.
func (d yamlDocument) parseWord(n *yaml.Node, word *string, kind string, known []string) error {
	if err := d.parseText(n, word); err != nil {
		return err
	}
	if !slices.Contains(known, *word) {
		return d.reject(n, fmt.Sprintf("%q is not a known %s", *word, kind), usage.Suggest(*word, known))
	}
	return nil
}

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "keys with values"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.Tag == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%q", n.Value)
}
