package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"runtime"
)

// release is what all artefacts of one share. When they were made is left out: it is no property of the bytes.
type release struct{ Version, Commit string }

// statement is in-toto's (https://github.com/in-toto/attestation/blob/v1.1.0/spec/v1/statement.md) with SLSA's
// predicate (https://slsa.dev/spec/v1.0/provenance). It is not signed itself: the signed list of checksums holds it.
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
				Dependencies: []resource{
					{URI: "pkg:golang/cudacompat", Digest: map[string]string{"gitCommit": r.Commit}},
					{URI: "pkg:golang/toolchain@" + runtime.Version()},
				},
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
