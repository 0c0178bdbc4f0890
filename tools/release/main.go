// Command release writes the files that accompany a release: the licences of the linked modules, a bill of materials of
// each binary, the bundle of tables, and the build provenance. packaging/release.sh calls it.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"cudacompat/data"
	"cudacompat/internal/bundle"
	"cudacompat/internal/tables"
)

const usage = `usage: release notice                     the licences of all that is linked into the program
       release sbom BINARY                CycloneDX, from the record that the linker left in it
       release bundle                     the tables as one file, for --matrix
       release provenance COMMIT FILE...  in-toto, with the SLSA predicate; the roots' packages on standard input
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
		return bundled(w)
	case len(args) == 2 && args[0] == "sbom":
		return sbom(w, args[1], sourceTime())
	case len(args) > 2 && args[0] == "provenance":
		list, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		packages, err := debianPackages(string(list))
		if err != nil {
			return err
		}
		return provenance(w, release{os.Getenv("VERSION"), args[1], packages}, args[2:])
	}
	return fmt.Errorf("%s", usage)
}

// bundled writes the embedded tables as a bundle.
func bundled(w io.Writer) error {
	return bundle.Write(w, data.FS, tables.Embedded().Checked())
}

// sourceTime returns when the sources were committed: two builds of them say the same
// (https://reproducible-builds.org/specs/source-date-epoch/).
func sourceTime() time.Time {
	seconds, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	return time.Unix(seconds, 0).UTC()
}
