package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A bom is a CycloneDX 1.6 document (https://cyclonedx.org/docs/1.6/json/). It is built from the linker's record, the
// only complete list of the binary's modules.
type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Purl    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
	// Licenses are all that its files hold; some modules have parts under another.
	Licenses []licenseChoice `json:"licenses"`
}

// licenseChoice is how CycloneDX names a licence of SPDX's list.
type licenseChoice struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

func sbom(w io.Writer, binary string, when time.Time) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	sum, err := fileSum(binary)
	if err != nil {
		return err
	}
	licences, err := linkedLicences()
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	b := bomOf(info, sum, os.Getenv("VERSION"), when)
	if err := b.license(licences); err != nil {
		return err
	}
	return enc.Encode(b)
}

// license adds the licences. A linked module without one is an error.
func (b *bom) license(licences map[string][]string) error {
	own := &b.Metadata.Component
	own.Licenses = choices([]string{"Apache-2.0"})
	for i := range b.Components {
		c := &b.Components[i]
		if c.Licenses = choices(licences[c.Name]); len(c.Licenses) == 0 {
			return fmt.Errorf("%s is linked in, and its licence is not known", c.Name)
		}
	}
	return nil
}

func choices(ids []string) []licenseChoice {
	list := make([]licenseChoice, len(ids))
	for i, id := range ids {
		list[i].License.ID = id
	}
	return list
}

func bomOf(info *debug.BuildInfo, sum, version string, when time.Time) bom {
	root := golang("application", info.Main.Path, version)
	root.Hashes = []hash{{"SHA-256", sum}}
	b := bom{
		Format: "CycloneDX", Spec: "1.6", Version: 1, Serial: serial(sum),
		Metadata: metadata{when.Format(time.RFC3339), root},
	}
	own := dependency{Ref: root.Ref}
	b.Components = []component{golang("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, golang("library", m.Path, m.Version))
	}
	for _, c := range b.Components {
		own.On = append(own.On, c.Ref)
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	b.Dependencies = slices.Insert(b.Dependencies, 0, own)
	return b
}

// golang returns a component with the name that other programs look it up by
// (https://github.com/package-url/purl-spec, type golang).
func golang(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: purl, Name: path, Version: version, Purl: purl}
}

// serial returns a UUID that the binary decides, so that the same binary has the same document (RFC 9562, version 8).
func serial(sum string) string {
	s := sum[:12] + "8" + sum[13:16] + "8" + sum[17:32]
	return fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", s[:8], s[8:12], s[12:16], s[16:20], s[20:32])
}

// fileSum returns a file's SHA-256 in hexadecimal.
func fileSum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
