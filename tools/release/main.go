// Command release writes what accompanies a release's artefacts: the licences of what is linked in, a bill of materials
// of a binary, the bundle of tables, and the record of how the artefacts came about. packaging/release.sh calls it.
package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"cudacompat/data"
	"cudacompat/docs"
	"cudacompat/internal/bundle"
	"cudacompat/internal/tables"

	"github.com/klauspost/compress/zstd"
)

const usage = `usage: release notice                     the licences of all that is linked into the program
       release sbom BINARY                CycloneDX, from the record that the linker left in it
       release bundle                     the tables as one file, for --matrix and for the program that carries them
       release pages                      the rules' pages as one file, for the program that carries them
       release provenance COMMIT FILE...  in-toto, with the SLSA predicate
SOURCE_DATE_EPOCH says the time of the sources, VERSION the release.`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "notice":
		return notice(w)
	case len(args) == 1 && args[0] == "bundle":
		return packed(w)
	case len(args) == 1 && args[0] == "pages":
		return pages(w)
	case len(args) == 2 && args[0] == "sbom":
		return sbom(w, args[1], sourceTime())
	case len(args) > 2 && args[0] == "provenance":
		return provenance(w, release{os.Getenv("VERSION"), args[1]}, args[2:])
	}
	return fmt.Errorf("%s", usage)
}

// packed writes the embedded tables as a bundle.
func packed(w io.Writer) error {
	sources, err := tables.Embedded().Sources()
	if err != nil {
		return err
	}
	known := make([]bundle.Table, len(sources))
	for i, s := range sources {
		known[i] = bundle.Table{Name: s.Name, Date: s.Date, SHA256: s.Hash}
	}
	return bundle.Write(w, data.FS, known)
}

// pages writes the embedded pages as an archive that is compressed as a whole; the same pages make the same bytes.
func pages(w io.Writer) error {
	var stored bytes.Buffer
	archive := zip.NewWriter(&stored)
	err := fs.WalkDir(docs.Rules(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		page, err := fs.ReadFile(docs.Rules(), name)
		if err != nil {
			return err
		}
		file, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return err
		}
		_, err = file.Write(page)
		return err
	})
	if err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	_, err = w.Write(encoder.EncodeAll(stored.Bytes(), nil))
	return err
}

// sourceTime is when the sources were committed: two builds of them say the same
// (https://reproducible-builds.org/specs/source-date-epoch/).
func sourceTime() time.Time {
	seconds, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	return time.Unix(seconds, 0).UTC()
}
