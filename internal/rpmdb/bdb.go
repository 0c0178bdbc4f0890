package rpmdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Packages is a hash table of Berkeley DB (libdb: src/dbinc/db_page.h). Its first page has at 12 the magic, at 20 the
// page size, at 24 whether it is encrypted, at 32 the last page's number, in the machine's own byte order. A page has
// at 16 the number of the next page, at 20 how many items it has, at 22 the length of its part of a large item, at 25
// its kind; at 26 the offsets of its items, key and value by turns, which fill the page from its end.
const (
	bdbMagic    = 0x00061561
	bdbHashMeta = 8
	bdbHash     = 13
	bdbOldHash  = 2 // unsorted, RHEL 5
	bdbOverflow = 7
	bdbItems    = 26

	bdbInline = 1 // kinds of items
	bdbLarge  = 3

	maxPages = 1 << 20 // of which each is looked at; 500 packages have 6500
)

// bdb reads a hash table page by page.
type bdb struct {
	db       io.ReaderAt
	order    binary.ByteOrder
	pageSize int64
	last     uint32
	one      [1]byte
}

// readBDB goes through the pages of the table; keys are package numbers, and the value of number 0 is the largest.
func readBDB(db io.ReaderAt, size int64) blobs {
	return func(yield func(*blob, error) bool) {
		t, err := openBDB(db, size)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := uint32(1); n <= t.last; n++ {
			if kind, err := t.kind(n); err == nil && kind != bdbHash && kind != bdbOldHash { // most: parts of large items
				continue
			}
			page, err := t.page(n)
			if err != nil {
				yield(nil, err)
				return
			}
			if !t.items(page, yield) {
				return
			}
		}
	}
}

func openBDB(db io.ReaderAt, size int64) (*bdb, error) {
	head := make([]byte, 72)
	if _, err := db.ReadAt(head, 0); err != nil {
		return nil, errors.New("too short for an RPM database")
	}
	t := &bdb{db: db, order: binary.LittleEndian}
	if t.order.Uint32(head[12:]) != bdbMagic {
		t.order = binary.BigEndian
	}
	if t.order.Uint32(head[12:]) != bdbMagic || head[25] != bdbHashMeta || head[24] != 0 {
		return nil, errors.New("an RPM database of no known form")
	}
	t.pageSize = int64(t.order.Uint32(head[20:]))
	if t.pageSize < 512 || t.pageSize > 1<<16 || t.pageSize&(t.pageSize-1) != 0 {
		return nil, fmt.Errorf("a Berkeley DB of an impossible page size, %d", t.pageSize)
	}
	t.last = t.order.Uint32(head[32:])
	if int64(t.last) >= size/t.pageSize {
		return nil, errors.New("its last pages are missing")
	}
	if t.last >= maxPages {
		return nil, fmt.Errorf("more than %d pages", maxPages)
	}
	return t, nil
}

// kind returns a page's kind.
func (t *bdb) kind(n uint32) (byte, error) {
	_, err := t.db.ReadAt(t.one[:], int64(n)*t.pageSize+25)
	return t.one[0], err
}

func (t *bdb) page(n uint32) ([]byte, error) {
	if n > t.last {
		return nil, fmt.Errorf("it has no page %d", n)
	}
	page := make([]byte, t.pageSize)
	if _, err := t.db.ReadAt(page, int64(n)*t.pageSize); err != nil {
		return nil, fmt.Errorf("page %d of the database: %w", n, err)
	}
	return page, nil
}

// items goes through the values of one page, and says whether to go on.
func (t *bdb) items(page []byte, yield func(*blob, error) bool) bool {
	end := len(page) // where the item before, that is above, begins
	for i := range int(t.order.Uint16(page[20:])) {
		if len(page) < bdbItems+2*i+2 {
			yield(nil, errItem)
			return false
		}
		at := int(t.order.Uint16(page[bdbItems+2*i:]))
		if at >= end {
			yield(nil, errItem)
			return false
		}
		item := page[at:end]
		end = at
		if i%2 == 0 { // a key
			continue
		}
		b, err := t.value(item)
		if b == nil && err == nil {
			continue
		}
		if !yield(b, err) || err != nil {
			return false
		}
	}
	return true
}

var errItem = errors.New("an item lies outside its page")

// value returns a package's header, nil for the number that is no package's.
func (t *bdb) value(item []byte) (*blob, error) {
	switch {
	case item[0] == bdbInline && len(item) > 1+8:
		return &blob{size: int64(len(item) - 1), data: item[1:]}, nil
	case item[0] == bdbInline:
		return nil, nil
	case item[0] != bdbLarge || len(item) < 12:
		return nil, errItem
	}
	next := t.order.Uint32(item[4:])
	b := &blob{size: int64(t.order.Uint32(item[8:]))}
	b.more = func() ([]byte, error) {
		page, err := t.page(next)
		if err != nil {
			return nil, err
		}
		length := int64(t.order.Uint16(page[22:]))
		if page[25] != bdbOverflow || bdbItems+length > t.pageSize {
			return nil, errItem
		}
		next = t.order.Uint32(page[16:])
		return page[bdbItems : bdbItems+length], nil
	}
	return b, nil
}
