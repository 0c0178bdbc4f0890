package rpmdb

import (
	"cmp"
	"encoding/binary"
	"errors"
)

// record returns a row of size bytes that begins in cell.
func (s *sqlite) record(cell []byte, size uint64) (*blob, error) {
	if size > uint64(s.pages)*uint64(s.pageSize) {
		return nil, errCell
	}
	local := s.local(int64(size))
	if int64(len(cell)) < local || local < int64(size) && int64(len(cell)) < local+4 {
		return nil, errCell
	}
	row := &blob{size: int64(size), data: cell[:local:local]}
	next := uint32(0)
	if local < row.size {
		next = binary.BigEndian.Uint32(cell[local:])
	}
	row.more = func() ([]byte, error) {
		page, err := s.page(next) // its first four bytes name the next
		if err != nil {
			return nil, err
		}
		next = binary.BigEndian.Uint32(page)
		return page[4:], nil
	}
	return row, nil
}

// local returns how much of a record stands on the leaf page itself.
func (s *sqlite) local(size int64) int64 {
	most, least := s.usable-35, (s.usable-12)*32/255-23
	if size <= most {
		return size
	}
	if k := least + (size-least)%(s.usable-4); k <= most {
		return k
	}
	return least
}

// column returns a column's kind (a serial type) and its position in a record.
func (s *sqlite) column(row *blob, column int) (kind uint64, at, size int64, err error) {
	head, err := row.prefix(min(row.size, 64)) // of five columns at most
	if err != nil {
		return 0, 0, 0, err
	}
	length, n := varint(head)
	if n == 0 || length < uint64(n) || length > uint64(len(head)) {
		return 0, 0, 0, errCell
	}
	at = int64(length)
	for i := 0; ; i++ {
		kind, m := varint(head[n:length])
		if m == 0 {
			return 0, 0, 0, errors.New("a row lacks a column")
		}
		size, err := sizeOf(kind)
		if err != nil || i == column {
			return kind, at, size, err
		}
		n, at = n+m, at+size
	}
}

// sizeOf returns how many bytes a value of a serial type has.
func sizeOf(kind uint64) (int64, error) {
	switch {
	case kind < 10:
		return []int64{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}[kind], nil
	case kind < 12 || kind > 1<<32:
		return 0, errCell
	}
	return int64(kind-12) / 2, nil
}

// text returns a column's string.
func (s *sqlite) text(row *blob, column int) (string, error) {
	_, at, size, err := s.column(row, column)
	if err != nil {
		return "", err
	}
	data, err := row.prefix(at + size)
	if err != nil {
		return "", err
	}
	return string(data[at:]), nil
}

// number returns a column's number, of those that fit a page number.
func (s *sqlite) number(row *blob, column int) (uint32, error) {
	kind, at, size, err := s.column(row, column)
	if err != nil || kind == 0 || kind > 4 {
		return 0, cmp.Or(err, errCell)
	}
	data, err := row.prefix(at + size)
	if err != nil {
		return 0, err
	}
	n := uint32(0)
	for _, b := range data[at:] {
		n = n<<8 | uint32(b)
	}
	return n, nil
}

// value returns a column's bytes as a blob of their own.
func (s *sqlite) value(row *blob, column int) (*blob, error) {
	kind, at, size, err := s.column(row, column)
	if err != nil || kind < 12 {
		return nil, cmp.Or(err, errCell)
	}
	data, err := row.prefix(at)
	if err != nil {
		return nil, err
	}
	return &blob{size: size, data: row.data[len(data):], more: row.more}, nil
}

// varint reads SQLite's number of up to nine bytes, the highest first; 0 bytes means that it breaks off.
func varint(data []byte) (value uint64, n int) {
	for i, b := range data[:min(9, len(data))] {
		if i == 8 {
			return value<<8 | uint64(b), 9
		}
		value = value<<7 | uint64(b&0x7f)
		if b < 0x80 {
			return value, i + 1
		}
	}
	return 0, 0
}
