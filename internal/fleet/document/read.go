// Package document reads what nodes of a fleet have sent, and passes it to a fleet.Judge.
//
// A document is facts or a report, by itself or in an envelope that names the node. It comes from a file, from a line of
// a file, from every file of a directory or from standard input, and may be compressed. A document that cannot be read
// is named, and the rest is read. Documents that differ only in times and in the name of their node are parsed once.
//
// An inventory lists the nodes that are expected.
package document

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cudacompat/internal/exactjson"
	"cudacompat/internal/fleet"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/report"
	"cudacompat/internal/usage"
	"cudacompat/probe"
)

// Reader reads nodes and passes them to the judge. It names a document that cannot be read and continues with the
// rest.
type Reader struct {
	ctx   context.Context
	judge *fleet.Judge
	stdin io.Reader
	known map[digest]*fleet.Judged // of documents that were parsed
}

// NewReader returns a reader that passes nodes to the judge until ctx ends.
func NewReader(ctx context.Context, judge *fleet.Judge, stdin io.Reader) *Reader {
	return &Reader{ctx: ctx, judge: judge, stdin: stdin}
}

// maxDocument limits a document, in bytes. A report of a node with dozens of environments is below 1 MB.
const maxDocument = 8 << 20

// maxKnown limits how many are kept, 40 bytes each.
const maxKnown = 20_000

// fleetFiles lists the extensions of files that a directory is searched for.
var fleetFiles = []string{".json", ".jsonl", ".ndjson"}

// Read reads a file, every file of a directory, or standard input. If a named file does not exist, it is the caller's
// mistake. If a file found in a directory cannot be read, it is one bad document.
func (d *Reader) Read(name string) error {
	if name == "-" {
		return d.readStream("-", d.stdin)
	}
	info, err := os.Stat(name)
	if err != nil {
		return &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)),
			Hint: "cudacompat fleet FILE, DIR, or - for standard input"}
	}
	if !info.IsDir() {
		return d.readFile(name)
	}
	return filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			d.judge.Refuse(path, "", usage.StripPath(err).Error())
		case entry.IsDir() || !slices.Contains(fleetFiles, filepath.Ext(strings.TrimSuffix(path, ".gz"))):
		case isLinkWithin(name, path, entry): // its file is read where it is, as in a volume of Kubernetes
		case !entry.Type().IsRegular():
			d.judge.Refuse(path, "", "it is not a regular file of this directory")
		case isEmptyFile(entry):
			d.judge.Refuse(path, "", "it is empty")
		default:
			if err := d.readFile(path); err != nil {
				d.judge.Refuse(path, "", err.Error())
			}
		}
		return d.ctx.Err()
	})
}

// isLinkWithin reports whether an entry is a link to something below the directory.
func isLinkWithin(dir, path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	base, err := filepath.EvalSymlinks(dir)
	real, err2 := filepath.EvalSymlinks(path)
	return err == nil && err2 == nil && strings.HasPrefix(real, base+string(filepath.Separator))
}

// isEmptyFile reports whether a file in a directory is empty because its collector was interrupted.
func isEmptyFile(entry fs.DirEntry) bool {
	info, err := entry.Info()
	return err == nil && info.Size() == 0
}

func (d *Reader) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return &usage.Error{Message: fmt.Sprintf("cannot read %q: %v", name, usage.StripPath(err)), Hint: ""}
	}
	defer f.Close()
	return d.readStream(name, f)
}

// readStream reads one document, or one on each line. A node without a name is called by the document's place.
func (d *Reader) readStream(name string, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	if magic, _ := r.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			d.judge.Refuse(name, "", "gzip: "+err.Error())
			return nil
		}
		r = bufio.NewReaderSize(z, 64<<10)
	}
	head, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if len(head) <= maxDocument && (json.Valid(head) || err == nil && !HasLine(head)) {
		if len(bytes.TrimSpace(head)) > 0 {
			d.judgeDocument(name, name, true, head)
		}
		if err != nil {
			d.judge.Refuse(name, "", "it was not read to its end: "+err.Error())
		}
		return d.ctx.Err()
	}
	return d.readLines(name, bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), r), 64<<10))
}

// HasLine reports whether a line is a complete document, so that a bad line before it is one of many documents.
func HasLine(data []byte) bool {
	for line := range bytes.Lines(data) {
		var e struct { // what tells an envelope, facts and a report apart from any other object
			Schema, Node string
			Facts        json.RawMessage
			Driver       struct{ Version string }
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] == '{' && json.Unmarshal(text, &e) == nil &&
			(e.Schema != "" || e.Node != "" || e.Facts != nil || e.Driver.Version != "") {
			return true
		}
	}
	return len(data) > maxDocument
}

// readLines reads one document on each line.
func (d *Reader) readLines(name string, r *bufio.Reader) error {
	var line []byte
	for n := 1; d.ctx.Err() == nil; n++ {
		var err error
		line, err = readLine(r, line[:0])
		place := fmt.Sprintf("%s:%d", name, n)
		switch text := bytes.TrimSpace(line); {
		case errors.Is(err, errLarge), err != nil && !errors.Is(err, io.EOF):
			d.judge.Refuse(place, findNode(line), err.Error())
		case len(text) > 0:
			d.judgeDocument(place, name, false, text)
		}
		if err != nil && !errors.Is(err, errLarge) {
			return nil
		}
	}
	return d.ctx.Err()
}

// errLarge is the error for a line longer than any report of a node.
var errLarge = fmt.Errorf("it is larger than %d MiB, which no report is", maxDocument>>20)

// readLine reads up to the next line break. It returns only the beginning of a line that is too long.
func readLine(r *bufio.Reader, into []byte) ([]byte, error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(into)+len(part) > maxDocument; !long {
			into = append(into, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return into, errLarge
		default:
			return into, err
		}
	}
}

// envelope is a document: facts, a report, or either with what its collector adds.
type envelope struct {
	probe.Facts
	Packed []byte          `json:"gzip"`
	Node   string          `json:"node"`
	Group  string          `json:"group"`
	Taken  string          `json:"taken"`
	Within *within         `json:"facts"`
	Report json.RawMessage `json:"report"` // a second place, of which nothing would be judged
	// Machines lists the machines of a report about several, which belongs to no single node.
	Machines []json.RawMessage `json:"machines"`
}

// nodeName matches the name of a node at the beginning of a document that cannot be parsed.
var nodeName = lazyregexp.New(`"node"\s*:\s*"([^"\\]{1,253})"`)

// findNode returns the node of a document that cannot be parsed, or "".
func findNode(data []byte) string {
	if m := nodeName.FindSubmatch(data[:min(len(data), 4<<10)]); m != nil {
		return string(m[1])
	}
	return ""
}

// within says what an envelope contains: facts, a report, or packed facts.
type within struct {
	probe.Facts
	Within *probe.Facts `json:"facts"`
	Packed []byte       `json:"gzip"`
}

// judgeDocument judges one document. A node without a name is called by the file, or by the line in it.
func (d *Reader) judgeDocument(place, file string, alone bool, data []byte) {
	named := func(n fleet.Node) fleet.Node {
		if n.Name == "" {
			if n.Name = place; alone {
				base := strings.TrimSuffix(filepath.Base(file), ".gz")
				n.Name = strings.TrimSuffix(base, filepath.Ext(base))
			}
		}
		return n
	}
	same, node, whole := computeFingerprint(data)
	if judged := d.known[same]; whole && judged != nil {
		d.judge.AddAlike(judged, named(node))
		return
	}
	if err := probe.Excess(data); err != nil {
		d.judge.Refuse(place, findNode(data), err.Error())
		return
	}
	var e envelope
	if err := exactjson.Unmarshal(data, &e); err != nil {
		d.judge.Refuse(place, findNode(data), describeJSONError(err)+"; "+readsOnly)
		return
	}
	if len(e.Machines) > 0 {
		d.judge.Refuse(place, e.Node, fmt.Sprintf("it is a report about %d machines; give a document of each", len(e.Machines)))
		return
	}
	facts, err := e.facts()
	if err != nil {
		d.judge.Refuse(place, e.Node, err.Error())
		return
	}
	facts.Shorten()
	facts.Anonymous()
	judged := d.judge.Add(d.ctx, named(fleet.Node{Name: e.Node, Group: e.Group, Taken: e.Taken, Facts: *facts}))
	if d.known == nil {
		d.known = map[digest]*fleet.Judged{}
	}
	if whole && judged != nil && len(d.known) < maxKnown {
		d.known[same] = judged
	}
}

// readsOnly says what a document can be.
const readsOnly = "fleet reads what `cudacompat probe` and `cudacompat doctor -o json` write, or either in an envelope"

// describeJSONError describes the error in a document without Go's type names.
func describeJSONError(err error) string {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("not valid JSON at byte %d", syntax.Offset)
	case errors.As(err, &wrong) && wrong.Field == "":
		return "a document is a JSON object, and this is not one"
	case errors.As(err, &wrong):
		return fmt.Sprintf("the field %s cannot be a %s", strings.ReplaceAll(wrong.Field, "Facts.", ""), wrong.Value)
	}
	return err.Error()
}

// facts returns the facts of the document. It rejects another schema version by name, because its words may mean other
// things.
func (e *envelope) facts() (*probe.Facts, error) {
	facts, schemas, packed := &e.Facts, []string{e.Schema}, e.Packed
	if e.holdsTwo() {
		return nil, errors.New("it has facts at two places, which may differ; " + readsOnly)
	}
	if e.Within != nil {
		facts, schemas, packed = &e.Within.Facts, append(schemas, e.Within.Schema), e.Within.Packed
		if e.Within.Within != nil {
			facts, schemas = e.Within.Within, append(schemas, e.Within.Within.Schema)
		}
	}
	if len(packed) > 0 {
		var err error
		if facts, err = unpackFacts(packed); err != nil {
			return nil, err
		}
		schemas = append(schemas, facts.Schema)
	}
	for _, s := range schemas {
		if s != "" && s != probe.FactsSchema && s != report.Schema && s != report.PackedSchema {
			return nil, fmt.Errorf(
				"the schema %s is unknown to this release, which reads %s and %s",
				s,
				probe.FactsSchema,
				report.Schema,
			)
		}
	}
	if facts.Schema == "" && isEmptyFacts(facts) {
		return nil, errors.New("there are no facts in it; " + readsOnly)
	}
	return facts, nil
}

// holdsTwo reports whether a document contains facts in two places, of which only one would be judged.
func (e *envelope) holdsTwo() bool {
	places := []bool{!isEmptyFacts(&e.Facts), len(e.Packed) > 0, len(e.Report) > 0 && string(e.Report) != "null"}
	if e.Within != nil {
		places = append(places, !isEmptyFacts(&e.Within.Facts), len(e.Within.Packed) > 0,
			e.Within.Within != nil && !isEmptyFacts(e.Within.Within))
	}
	return len(slices.DeleteFunc(places, func(there bool) bool { return !there })) > 1
}

// isEmptyFacts reports whether facts say nothing about a machine.
func isEmptyFacts(f *probe.Facts) bool {
	return f.Driver.Version == "" && len(f.GPUs)+len(f.Environments)+len(f.Probes) == 0
}

// unpackFacts returns facts that `probe -o fleet` compressed.
func unpackFacts(packed []byte) (*probe.Facts, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errors.New("its compressed facts: " + err.Error())
	}
	data, err := io.ReadAll(io.LimitReader(z, maxDocument+1))
	switch {
	case err != nil:
		return nil, errors.New("its compressed facts: " + err.Error())
	case len(data) > maxDocument:
		return nil, errLarge
	}
	if err := probe.Excess(data); err != nil {
		return nil, fmt.Errorf("its compressed facts: %w", err)
	}
	facts := new(probe.Facts)
	if err := exactjson.Unmarshal(data, facts); err != nil {
		return nil, errors.New("its compressed facts: " + describeJSONError(err))
	}
	return facts, nil
}
