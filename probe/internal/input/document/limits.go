package document

import (
	"bytes"
	"cmp"
	"fmt"

	"cudacompat/probe/facts"
)

// What is read becomes many times its size, so it is counted before it is parsed. A report of a node with a thousand
// environments has some 15,000 objects; a lock of 3,000 packages some 9,000 tables, 60,000 wheels and 70,000 lines.
const (
	maxObjects = 50_000
	maxTables  = 10_000 // the TOML parser's time grows with their square
	maxInline  = 60_000
	maxLines   = 200_000
)

// TooLarge says what a file has too much of, before it is parsed. Braces in strings count, too; no real file has so
// many.
func TooLarge(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) || bytes.HasPrefix(data, []byte("[{")) {
		return TooMany(bytes.Count(data, []byte("{")), maxObjects, "JSON objects")
	}
	for _, count := range []struct {
		mark string
		most int
		what string
	}{{"\n[", maxTables, "tables"}, {"{", maxInline, "inline tables"}, {"\n", maxLines, "lines"}} {
		if err := TooMany(bytes.Count(data, []byte(count.mark)), count.most, count.what); err != nil {
			return err
		}
	}
	return nil
}

// Limit returns an error if a document has too much of something that its parser keeps, before it is parsed. The limits
// are several times the largest known document and keep a run below 64 MB.
type Limit func(data []byte) error

// What the formats' parsers keep.
const (
	MaxRows         = 20_000  // packages; an environment of 2,000 is large
	maxInstructions = 20_000  // lines of a Dockerfile, continued ones too
	maxEntries      = 40_000  // of the first part of pixi's lock
	maxProject      = 10_000  // entries of a pyproject.toml or an environment.yml, which people write
	maxTags         = 200_000 // a machine of 16 GPUs has some 14,000
	maxWords        = 20_000  // of pip's "Would install torch-2.9.0 …"
	maxWheels       = 10_000  // of one package of a lock: the TOML parser makes a tree of one table's value
)

var (
	Objects      = atMost(maxObjects, "JSON objects", countOf("{"))
	Tables       = both(atMost(maxTables, "tables", countOf("\n[")), atMost(maxWheels, "inline tables in one table", countInline))
	Lines        = atMost(maxLines, "lines", countOf("\n"))
	Instructions = atMost(maxInstructions, "lines", countOf("\n"))
	Tags         = atMost(maxTags, "XML tags", countOf("<"))
	Words        = atMost(maxWords, "words", func(data []byte) int { return len(bytes.Fields(data)) })
	Rows         = atMost(MaxRows, "lines that name something", countRows)
	Entries      = atMost(maxEntries, "entries", countEntries)
	Project      = atMost(maxProject, "entries", countEntries)
)

func atMost(most int, what string, count func([]byte) int) Limit {
	return func(data []byte) error { return TooMany(count(data), most, what) }
}

func both(first, second Limit) Limit {
	return func(data []byte) error { return cmp.Or(first(data), second(data)) }
}

func countOf(mark string) func([]byte) int {
	return func(data []byte) int { return bytes.Count(data, []byte(mark)) }
}

// countRows counts lines that begin something: neither empty nor indented, nor a comment, as hashes are below a
// requirement.
func countRows(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		if c := line[0]; c > ' ' && c != '#' {
			n++
		}
	}
	return n
}

// countInline counts the inline tables of the table that has most of them.
func countInline(data []byte) int {
	most := 0
	for table := range bytes.SplitSeq(data, []byte("\n[")) {
		most = max(most, bytes.Count(table, []byte("{")))
	}
	return most
}

// countEntries counts what stands between line ends and commas.
func countEntries(data []byte) int {
	return bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte(","))
}

func TooMany(n, most int, what string) error {
	if n <= most {
		return nil
	}
	return fmt.Errorf("it has %d %s; more than %d are not read", n, what, most)
}

// What one document may name: far more than any machine has. They are compared with each other.
const (
	MaxGPUs         = 1024
	maxEnvironments = 5000
	maxBuilds       = 2000
)

// TooManyNamed says what a document names too many of.
func TooManyNamed(f facts.Facts) error {
	builds := 0
	releases, most := map[string]int{}, 0 // of one package
	for _, e := range f.Environments {
		builds += len(e.Builds)
		for _, w := range e.Requested {
			releases[w.Name]++
			most = max(most, releases[w.Name])
		}
	}
	for _, count := range []struct {
		n, most int
		what    string
	}{{len(f.GPUs), MaxGPUs, "GPUs"}, {len(f.Environments), maxEnvironments, "environments"},
		{builds, maxBuilds, "builds"}, {most, maxBuilds, "releases of one package"}} {
		if err := TooMany(count.n, count.most, count.what); err != nil {
			return err
		}
	}
	return nil
}
