// Package rpmdbtest writes small RPM databases for tests, of SQLite's form: two pages, the schema and the packages.
package rpmdbtest

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

const pageSize = 8192

// SQLite returns a database of packages, given as lines such as "nvidia-driver-cuda 3:580.95.05-1.amzn2023".
func SQLite(lines string) ([]byte, error) {
	var rows [][]byte
	for line := range strings.Lines(lines) {
		name, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			return nil, fmt.Errorf("%q is not a name and a version", line)
		}
		header, err := Header(name, version)
		if err != nil {
			return nil, err
		}
		rows = append(rows, record(nil, header))
	}
	const create = "CREATE TABLE 'Packages' (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL)"
	schema, err := leaf(100, [][]byte{record("table", "Packages", "Packages", byte(2), create)})
	if err != nil {
		return nil, err
	}
	packages, err := leaf(0, rows)
	if err != nil {
		return nil, err
	}
	head := append([]byte("SQLite format 3\x00"), pageSize>>8, 0, 2, 2, 0, 64, 32, 32)
	head = be.AppendUint32(head, 1) // changes
	head = be.AppendUint32(head, 2) // pages
	for _, n := range []uint32{0, 0, 1, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3040001} {
		head = be.AppendUint32(head, n)
	}
	copy(schema, head)
	return append(schema, packages...), nil
}

var be = binary.BigEndian

// Header returns a package's header with what names it.
func Header(name, version string) ([]byte, error) {
	epoch, rest, hasEpoch := strings.Cut(version, ":")
	if !hasEpoch {
		epoch, rest = "", version
	}
	version, release, ok := strings.Cut(rest, "-")
	if !ok {
		return nil, fmt.Errorf("%s: version %q has no release", name, version)
	}
	var index, data []byte
	entry := func(tag, kind uint32, value []byte) {
		for _, n := range []uint32{tag, kind, uint32(len(data)), 1} {
			index = be.AppendUint32(index, n)
		}
		data = append(data, value...)
	}
	if epoch != "" {
		n, err := strconv.ParseUint(epoch, 10, 32)
		if err != nil {
			return nil, err
		}
		entry(1003, 4, be.AppendUint32(nil, uint32(n)))
	}
	entry(1000, 6, []byte(name+"\x00"))
	entry(1001, 6, []byte(version+"\x00"))
	entry(1002, 6, []byte(release+"\x00"))
	header := be.AppendUint32(nil, uint32(len(index)/16))
	header = be.AppendUint32(header, uint32(len(data)))
	return append(append(header, index...), data...), nil
}

// leaf returns a table's page with rows numbered from 1, after so many bytes of another head.
func leaf(before int, rows [][]byte) ([]byte, error) {
	page := make([]byte, pageSize)
	end := pageSize
	pointers := before + 8
	for i, row := range rows {
		cell := append(varint(uint64(len(row))), varint(uint64(i+1))...)
		cell = append(cell, row...)
		end -= len(cell)
		if end < pointers+2*len(rows) || len(row) > pageSize-35 {
			return nil, fmt.Errorf("more packages than fit %d bytes", pageSize)
		}
		copy(page[end:], cell)
		be.PutUint16(page[pointers+2*i:], uint16(end))
	}
	page[before] = 0x0d
	be.PutUint16(page[before+3:], uint16(len(rows)))
	be.PutUint16(page[before+5:], uint16(end))
	return page, nil
}

// record returns a row: the sizes of its values, then the values. nil stands for the row's own number.
func record(values ...any) []byte {
	var kinds, body []byte
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			kinds = append(kinds, 0)
		case byte:
			kinds, body = append(kinds, 1), append(body, v)
		case string:
			kinds, body = append(kinds, varint(uint64(2*len(v)+13))...), append(body, v...)
		case []byte:
			kinds, body = append(kinds, varint(uint64(2*len(v)+12))...), append(body, v...)
		}
	}
	return append(append([]byte{byte(len(kinds) + 1)}, kinds...), body...)
}

func varint(n uint64) []byte {
	list := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		list = append([]byte{byte(n&0x7f) | 0x80}, list...)
	}
	return list
}
