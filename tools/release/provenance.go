package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// release is what all artefacts of one share. When they were made is left out: it is no property of the bytes.
type release struct {
	Version, Commit string
	// Packages are Debian's in the roots that the artefacts were built in and from, as a package URL each.
	Packages []resource
}

// debianPackages reads what packaging/root.sh writes down of its root, a package a line:
//
//	bullseye gcc-10 10.2.1-6 amd64
//
// (https://github.com/package-url/purl-spec, type deb).
func debianPackages(list string) ([]resource, error) {
	var packages []resource
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, fmt.Errorf("%q is no package of a root", line)
		}
		packages = append(packages, resource{URI: fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=%s",
			url.PathEscape(words[1]), url.PathEscape(words[2]), words[3], words[0])})
	}
	if len(packages) == 0 {
		return nil, errors.New("the roots have no packages: packaging/root.sh writes them down")
	}
	return packages, nil
}

// A statement is an in-toto statement (https://github.com/in-toto/attestation/blob/v1.1.0/spec/v1/statement.md) with
// SLSA's predicate (https://slsa.dev/spec/v1.0/provenance). It is not signed itself, but the signed list of checksums
// includes it.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

type predicate struct {
	Definition definition `json:"buildDefinition"`
	Details    details    `json:"runDetails"`
}

type definition struct {
	Type         string            `json:"buildType"`
	External     map[string]string `json:"externalParameters"`
	Dependencies []resource        `json:"resolvedDependencies"`
}

type details struct {
	Builder map[string]string `json:"builder"`
}

// buildType names the way in which the artefacts are made; it changes when that does.
const buildType = "urn:cudacompat:packaging/release.sh:v1"

func provenance(w io.Writer, r release, files []string) error {
	s := statement{
		Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1",
		Predicate: predicate{
			Definition: definition{
				Type: buildType, External: map[string]string{"version": r.Version},
				Dependencies: append([]resource{
					{URI: "pkg:golang/cudacompat", Digest: map[string]string{"gitCommit": r.Commit}},
					{URI: "pkg:golang/toolchain@" + runtime.Version()},
				}, r.Packages...),
			},
			Details: details{Builder: map[string]string{"id": "urn:cudacompat:packaging/release.sh"}},
		},
	}
	for _, file := range files {
		sum, err := fileSum(file)
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, resource{Name: filepath.Base(file), Digest: map[string]string{"sha256": sum}})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}
