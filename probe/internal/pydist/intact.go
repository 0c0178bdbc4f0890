package pydist

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"path"
	"strconv"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// State is how a file compares with the RECORD of the distribution that installed it.
type State int

const (
	Intact   State = iota // as RECORD says, as far as was compared
	Unlisted              // RECORD does not list it, or tells no size
	Gone
	Altered // of another size, or another hash
	Unread  // this user may not read it, or the file system does not answer
)

// Check is the comparison of one file.
type Check struct {
	State State
	Size  int64         // on disk
	Told  int64         // by RECORD
	By    *Distribution // the other distribution that the file on disk is of; nil where none is known
}

// HashedSize is the size, in bytes, below which a file of the right size is worth hashing.
const HashedSize = 1 << 20

// Intact compares a file with the RECORD of a distribution by its size, and says which other distribution's it is.
func (x *Index) Intact(d *Distribution, file string) Check {
	if c, ok := d.intact[file]; ok {
		return c
	}
	c := d.compare(file)
	if c.State == Altered {
		c.By = x.replacedBy(d, file, c.Size)
	}
	if d.intact == nil {
		d.intact = map[string]Check{}
	}
	d.intact[file] = c
	return c
}

// compare compares a file's size with RECORD.
func (d *Distribution) compare(file string) Check {
	f, ok := d.Record().File(file)
	if !ok || f.Size < 0 {
		return Check{State: Unlisted}
	}
	size, err := d.h.Size(path.Join(d.Dir(), file))
	c := Check{Size: size, Told: f.Size}
	switch {
	case host.Absent(err):
		c.State = Gone
	case err != nil:
		c.State = Unread
	case size != f.Size:
		c.State = Altered
	}
	return c
}

// replacedBy returns the distribution of the same directory whose RECORD lists a file with the size that it has.
func (x *Index) replacedBy(d *Distribution, file string, size int64) *Distribution {
	list, _ := x.In(d.Dir())
	for _, other := range list {
		if f, ok := other.Record().File(file); ok && other != d && f.Size == size {
			return other
		}
	}
	return nil
}

// Replaced returns the first of some files of a distribution that another one was installed over.
func (x *Index) Replaced(d *Distribution, files []string) *facts.Replaced {
	for _, file := range files {
		if c := x.Intact(d, file); c.By != nil {
			return &facts.Replaced{By: c.By.String(), File: path.Join(d.Dir(), file)}
		}
	}
	return nil
}

// Explain says how a file differs from RECORD, "nvidia/nccl/lib/libnccl.so.2 is gone", or returns "". It hashes small
// files of the right size.
func (x *Index) Explain(d *Distribution, file string) string {
	switch c := x.Intact(d, file); {
	case c.State == Gone:
		return file + " is gone"
	case c.State == Altered:
		return fmt.Sprintf("%s has %d bytes, RECORD says %d", file, c.Size, c.Told)
	case c.State == Intact && c.Size < HashedSize && !d.SameHash(file):
		return file + " has another sha256 than RECORD says"
	}
	return ""
}

// SameHash reports whether a file has the hash in RECORD, or RECORD has none.
func (d *Distribution) SameHash(file string) bool {
	f, _ := d.Record().File(file)
	if f.Hash == "" {
		return true
	}
	data, err := d.h.ReadFile(path.Join(d.Dir(), file))
	if err != nil {
		return false
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:]) == f.Hash
}

// maxCompared limits how many files of a RECORD are compared with those on disk.
const maxCompared = 100

// mismatches counts the files of a RECORD, from its beginning, that are gone or of another size.
func (d *Distribution) mismatches() int {
	count, seen := 0, 0
	for f := range d.Record().Files() {
		if f.Size < 0 || strings.Contains(f.Name, ".dist-info/") {
			continue
		}
		if seen++; seen > maxCompared {
			break
		}
		if size, err := d.h.Size(path.Join(d.Dir(), f.Name)); err != nil || size != f.Size {
			count++
		}
	}
	return count
}

// Damage is a file of a distribution that is gone or has another size than RECORD says.
type Damage struct {
	Name string // as RECORD has it
	Size int64  // on disk; host.SizeGone
	Told int64  // by RECORD
}

// Damaged returns the sources and libraries of a distribution that are gone or of another size. It asks the file system
// for all of them, once.
func (x *Index) Damaged(d *Distribution) []Damage { return d.damages(&d.damaged, false) }

// fewSources is the number of sources up to which all of a pure distribution's are compared.
const fewSources = 150

// DamagedFront is Damaged for a distribution that another one requires. For a pure Python one it compares only the
// sources in its packages' own directories: the parts that a program does not use, as most of SymPy, are not worth the
// time.
func (x *Index) DamagedFront(d *Distribution) []Damage {
	if !d.Tags().Pure || bytes.Count(d.Record().data, []byte(".py,")) <= fewSources {
		return x.Damaged(d)
	}
	return d.damages(&d.front, true)
}

// damages compares once.
func (d *Distribution) damages(known **[]Damage, front bool) []Damage {
	if *known == nil {
		list := d.compareAll(front)
		*known = &list
	}
	return **known
}

// IsTest reports whether a file lies in a directory of tests, which no program imports.
func IsTest(name []byte) bool {
	for _, dir := range []string{"tests/", "test/", "testing/"} {
		if i := bytes.Index(name, []byte(dir)); i == 0 || i > 0 && (name[i-1] == '/' || bytes.Contains(name, []byte("/"+dir))) {
			return true
		}
	}
	return false
}

// compareAll goes through RECORD, whose lines stand by directories.
func (d *Distribution) compareAll(front bool) []Damage {
	var list []Damage
	var dir string
	var names []string
	var told []int64
	ask := func() {
		for i, size := range d.h.SizesIn(path.Join(d.Dir(), dir), names) {
			if size != told[i] && size != host.SizeUnknown {
				list = append(list, Damage{path.Join(dir, names[i]), size, told[i]})
			}
		}
		names, told = names[:0], told[:0]
	}
	for line := range bytes.Lines(d.Record().data) {
		name, rest, _ := bytes.Cut(line, []byte(","))
		_, size, ok := bytes.Cut(rest, []byte(","))
		if !ok || !bytes.HasSuffix(name, []byte(".py")) && !(bytes.Contains(name, []byte(".so")) && LibraryFile.Match(name)) || bytes.HasPrefix(name, []byte("..")) {
			continue
		}
		if IsTest(name) || front && bytes.Count(name, []byte("/")) > 1 && bytes.HasSuffix(name, []byte(".py")) {
			continue
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64)
		if err != nil {
			continue
		}
		slash := bytes.LastIndexByte(name, '/')
		if in := name[:max(slash, 0)]; string(in) != dir {
			ask()
			dir = string(in)
		}
		names, told = append(names, string(name[slash+1:])), append(told, n)
	}
	ask()
	return list
}
