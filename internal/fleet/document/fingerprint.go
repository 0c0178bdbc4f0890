package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"strconv"
	"strings"

	"cudacompat/internal/fleet"
)

// digest is equal for documents that are judged alike.
type digest [sha256.Size]byte

// fingerprint scans a document and hashes everything except what matrix.Normalize clears and what names the node.
type fingerprint struct {
	data     []byte
	at       int
	hashed   int // up to here
	sum      hash.Hash
	node     fleet.Node
	uptime   float64
	latest   float64 // seconds after boot: when a fabric could begin, at the latest
	readable bool
}

// settledSeconds is longer than any fabric age that matters.
const settledSeconds = 600

// computeFingerprint computes the digest of a document and finds the node that it names, without parsing it. If the first of
// two documents with the same digest is valid, both get the same verdict. computeFingerprint returns false for a document that
// must be parsed.
func computeFingerprint(data []byte) (digest, fleet.Node, bool) {
	f := &fingerprint{data: data, sum: sha256.New(), readable: true}
	f.skipValue("")
	f.skipSpace()
	if !f.readable || f.at != len(data) || f.uptime > 0 && f.uptime-f.latest < settledSeconds {
		return digest{}, fleet.Node{}, false
	}
	f.hashTo(len(data))
	if f.uptime > 0 {
		f.sum.Write([]byte("\x00up"))
	}
	return digest(f.sum.Sum(nil)), f.node, true
}

// hashTo hashes the bytes before a position.
func (f *fingerprint) hashTo(end int) {
	f.sum.Write(f.data[f.hashed:end])
	f.hashed = end
}

func (f *fingerprint) skipSpace() {
	for f.at < len(f.data) && strings.IndexByte(" \t\r\n", f.data[f.at]) >= 0 {
		f.at++
	}
}

// skipByte skips white space and one byte, and reports whether the byte was there.
func (f *fingerprint) skipByte(c byte) bool {
	if f.skipSpace(); f.at >= len(f.data) || f.data[f.at] != c {
		return false
	}
	f.at++
	return true
}

// skipValue skips the value at a path of names, "gpus.memory".
func (f *fingerprint) skipValue(path string) {
	switch {
	case f.skipByte('{'):
		for more := !f.skipByte('}'); more && f.readable; more = f.skipComma('}') {
			name := f.skipText()
			f.readable = f.readable && f.skipByte(':')
			f.skipMember(strings.TrimPrefix(path+"."+name, "."))
		}
	case f.skipByte('['):
		for more := !f.skipByte(']'); more && f.readable; more = f.skipComma(']') {
			f.skipValue(path)
		}
	case f.at < len(f.data) && f.data[f.at] == '"':
		f.skipText()
	default:
		start := f.at
		for f.at < len(f.data) && strings.IndexByte(",]} \t\r\n", f.data[f.at]) < 0 {
			f.at++
		}
		f.readable = f.readable && f.at > start
	}
}

// skipComma reports whether another member follows.
func (f *fingerprint) skipComma(end byte) bool {
	if f.skipByte(end) {
		return false
	}
	f.readable = f.readable && f.skipByte(',')
	return f.readable
}

// skipText skips a string and returns it as written.
func (f *fingerprint) skipText() string {
	if !f.skipByte('"') {
		f.readable = false
		return ""
	}
	for start := f.at; f.at < len(f.data); f.at++ {
		switch f.data[f.at] {
		case '\\':
			f.at++
		case '"':
			f.at++
			return string(f.data[start : f.at-1])
		}
	}
	f.readable = false
	return ""
}

// skipMember skips the value of a name. A value that is not hashed must have the form that Normalize clears.
func (f *fingerprint) skipMember(path string) {
	f.skipSpace()
	f.hashTo(f.at)
	start := f.at
	f.skipValue(path)
	if !f.readable || f.at > len(f.data) {
		f.readable = false
		return
	}
	raw := f.data[start:f.at]
	for range 2 { // in an envelope, or in a report in one
		path = strings.TrimPrefix(path, "facts.")
	}
	switch path {
	case "node":
		f.takeText(raw, &f.node.Name)
	case "group":
		f.takeText(raw, &f.node.Group)
	case "taken":
		f.takeText(raw, &f.node.Taken)
	case "machine.uptime":
		f.uptime = f.takeNumber(raw)
	case "machine.module_loaded", "machine.fabric.started":
		f.latest = max(f.latest, f.takeNumber(raw))
	case "probes.seconds":
		f.takeNumber(raw)
	case "gpus.memory":
		if f.readable = json.Valid(raw); f.readable {
			f.sum.Write(bytes.Map(dropDigit, raw))
			f.hashed = f.at
		}
	}
}

func dropDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// takeText stores a string that does not affect the judgement. A repeated name makes the document one to parse.
func (f *fingerprint) takeText(raw []byte, to *string) {
	if f.readable = *to == "" && json.Unmarshal(raw, to) == nil; f.readable {
		f.hashed = f.at
	}
}

// takeNumber stores a number that only records time.
func (f *fingerprint) takeNumber(raw []byte) float64 {
	v, err := strconv.ParseFloat(string(raw), 64)
	if f.readable = err == nil && v >= 0 && json.Valid(raw); f.readable {
		f.hashed = f.at
	}
	return v
}
