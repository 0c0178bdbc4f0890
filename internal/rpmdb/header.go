package rpmdb

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"strconv"
)

// A header is, in big-endian 32-bit words: how many entries, how many bytes of data; then for each entry its tag, type,
// offset in the data and count; then the data (rpm: docs/manual/format_header.md).
const (
	tagName    = 1000
	tagVersion = 1001
	tagRelease = 1002
	tagEpoch   = 1003

	typeInt32  = 4
	typeString = 6

	entrySize  = 16
	maxEntries = 1 << 16 // rpm's own limit
	maxString  = 1 << 10 // of a name, a version
)

// tags are an entry's place in the data by its tag.
type tags map[uint32]struct{ kind, offset uint32 }

// parseHeader reads which package a header is of.
func parseHeader(b *blob) (Package, error) {
	head, err := b.prefix(8)
	if err != nil {
		return Package{}, err
	}
	n := binary.BigEndian.Uint32(head)
	if n == 0 || n > maxEntries {
		return Package{}, errors.New("no RPM header")
	}
	start := 8 + entrySize*int64(n)
	index, err := b.prefix(start)
	if err != nil {
		return Package{}, err
	}
	h := header{blob: b, start: start, tags: parseIndex(index[8:])}
	p := Package{Name: h.text(tagName), Version: h.text(tagVersion) + "-" + h.text(tagRelease)}
	if epoch, ok := h.number(tagEpoch); ok {
		p.Version = strconv.FormatUint(uint64(epoch), 10) + ":" + p.Version
	}
	return p, h.err
}

func parseIndex(index []byte) tags {
	t := tags{}
	for ; len(index) >= entrySize; index = index[entrySize:] {
		e := binary.BigEndian
		t[e.Uint32(index)] = struct{ kind, offset uint32 }{e.Uint32(index[4:]), e.Uint32(index[8:])}
	}
	return t
}

// header reads values of a header; the first failure stays.
type header struct {
	*blob
	start int64 // of the data
	tags  tags
	err   error
}

// text returns a tag's string, which every package has.
func (h *header) text(tag uint32) string {
	e := h.tags[tag]
	if e.kind != typeString {
		h.fail(errors.New("its header names no package"))
		return ""
	}
	at := h.start + int64(e.offset)
	data, err := h.prefix(min(at+maxString, h.size))
	if err != nil || int64(len(data)) < at {
		h.fail(cmp.Or(err, errors.New("a string lies outside its header")))
		return ""
	}
	end := bytes.IndexByte(data[at:], 0)
	if end < 0 {
		h.fail(errors.New("a string without end in its header"))
		return ""
	}
	return string(data[at : at+int64(end)])
}

// number returns a tag's first number, if the package has one.
func (h *header) number(tag uint32) (uint32, bool) {
	e := h.tags[tag]
	if e.kind != typeInt32 {
		return 0, false
	}
	at := h.start + int64(e.offset)
	data, err := h.prefix(at + 4)
	if err != nil {
		h.fail(err)
		return 0, false
	}
	return binary.BigEndian.Uint32(data[at:]), true
}

func (h *header) fail(err error) {
	if h.err == nil {
		h.err = err
	}
}
