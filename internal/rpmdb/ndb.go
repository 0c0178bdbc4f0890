package rpmdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// An ndb file (rpm: lib/backend/ndb/rpmpkg.c) is little-endian. Its header of 32 bytes has the magic, the version, the
// generation and the number of slot pages. Slots of 16 bytes fill those pages: "Slot", package, offset and length in
// blocks of 16 bytes. At the offset follow "BlbS", package, generation and length, then the RPM header.
const (
	ndbMagic  = "RpmP"
	ndbPage   = 4096
	ndbUnit   = 16 // of slots, of blocks, of a header's own head
	ndbPiece  = 8192
	ndbMaxTab = 2048 // slot pages
)

// readNDB goes through the slots.
func readNDB(db io.ReaderAt, size int64) blobs {
	return func(yield func(*blob, error) bool) {
		slots, err := ndbSlots(db)
		if err != nil {
			yield(nil, err)
			return
		}
		for ; len(slots) >= ndbUnit; slots = slots[ndbUnit:] {
			pkg, offset := binary.LittleEndian.Uint32(slots[4:]), binary.LittleEndian.Uint32(slots[8:])
			if string(slots[:4]) != "Slot" {
				yield(nil, errors.New("a slot is none"))
				return
			}
			if pkg == 0 { // free
				continue
			}
			b, err := ndbBlob(db, size, pkg, int64(offset)*ndbUnit)
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func ndbSlots(db io.ReaderAt) ([]byte, error) {
	head := make([]byte, 32)
	if _, err := db.ReadAt(head, 0); err != nil {
		return nil, err
	}
	form, pages := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[12:])
	if form != 0 || pages == 0 || pages > ndbMaxTab {
		return nil, fmt.Errorf("an ndb database of form %d with %d pages of slots, which is not known", form, pages)
	}
	data := make([]byte, int(pages)*ndbPage)
	if _, err := db.ReadAt(data, 0); err != nil {
		return nil, errors.New("its slots break off")
	}
	return data[len(head):], nil
}

// ndbBlob returns the header at an offset.
func ndbBlob(db io.ReaderAt, size int64, pkg uint32, at int64) (*blob, error) {
	head := make([]byte, ndbUnit)
	if _, err := db.ReadAt(head, at); err != nil || string(head[:4]) != "BlbS" ||
		binary.LittleEndian.Uint32(head[4:]) != pkg {
		return nil, fmt.Errorf("package %d is not where its slot says", pkg)
	}
	b := &blob{size: int64(binary.LittleEndian.Uint32(head[12:]))}
	at += ndbUnit
	end := min(at+b.size, size)
	b.more = func() ([]byte, error) {
		piece := make([]byte, max(min(end-at, ndbPiece), 0))
		_, err := db.ReadAt(piece, at)
		at += int64(len(piece))
		return piece, err
	}
	return b, nil
}
