package rpmdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// sqliteMagic begins a SQLite database (https://www.sqlite.org/fileformat2.html).
const sqliteMagic = "SQLite format 3\x00"

// Kinds of b-tree pages. Packages is a table with a row id, so that no index is ever walked.
const (
	interiorPage = 0x05
	leafPage     = 0x0d
)

// sqlite reads tables page by page.
type sqlite struct {
	db       io.ReaderAt
	log      io.ReaderAt
	pageSize int64
	usable   int64            // of a page, without what is reserved at its end
	pages    uint32           // how many there are
	inLog    map[uint32]int64 // where in the log a page's newest content stands
	walked   uint32           // b-tree pages seen: more than there are is a circle
	depth    int              // of the page that is being gone through
}

// maxDepth is SQLite's own (BTCURSOR_MAX_DEPTH in btreeInt.h): no table of 2^31 pages is deeper.
const maxDepth = 20

// readSQLite finds the table Packages and goes through its rows: (hnum INTEGER PRIMARY KEY, blob BLOB).
func readSQLite(db io.ReaderAt, size int64, log io.ReaderAt) blobs {
	return func(yield func(*blob, error) bool) {
		s, err := openSQLite(db, size, log)
		if err != nil {
			yield(nil, err)
			return
		}
		root, err := s.rootOf("Packages")
		if err != nil {
			yield(nil, err)
			return
		}
		s.walked = 0
		s.rows(root, func(row *blob, err error) bool {
			if err == nil {
				row, err = s.value(row, 1)
			}
			return yield(row, err) && err == nil
		})
	}
}

// openSQLite reads the head of the file: the page size in bytes 16 and 17, the reserved bytes of a page in 20, the text
// encoding in 56, and in 18 whether there may be a write-ahead log.
func openSQLite(db io.ReaderAt, size int64, log io.ReaderAt) (*sqlite, error) {
	head := make([]byte, 100)
	if _, err := db.ReadAt(head, 0); err != nil {
		return nil, errors.New("no SQLite database: its head breaks off")
	}
	s := &sqlite{db: db, pageSize: int64(binary.BigEndian.Uint16(head[16:]))}
	if s.pageSize == 1 {
		s.pageSize = 1 << 16
	}
	s.usable = s.pageSize - int64(head[20])
	if s.pageSize&(s.pageSize-1) != 0 || s.usable < 480 {
		return nil, fmt.Errorf("a SQLite database of an impossible page size, %d", s.pageSize)
	}
	if encoding := binary.BigEndian.Uint32(head[56:]); encoding > 1 {
		return nil, errors.New("a SQLite database whose text is not UTF-8, which rpm does not make")
	}
	s.pages = uint32(size / s.pageSize)
	if log != nil && head[18] == 2 {
		s.log = log
		return s, s.readLog()
	}
	return s, nil
}

// page returns the newest content of a page; they count from 1.
func (s *sqlite) page(n uint32) ([]byte, error) {
	if n == 0 || n > s.pages {
		return nil, fmt.Errorf("it has no page %d", n)
	}
	from, at := s.db, int64(n-1)*s.pageSize
	if place, ok := s.inLog[n]; ok {
		from, at = s.log, place
	}
	data := make([]byte, s.pageSize)
	if _, err := from.ReadAt(data, at); err != nil {
		return nil, fmt.Errorf("page %d of the database: %w", n, err)
	}
	return data[:s.usable], nil
}

// rootOf returns the root page of a table, of the schema that begins on page 1: (type, name, tbl_name, rootpage, sql).
func (s *sqlite) rootOf(table string) (root uint32, err error) {
	s.rows(1, func(row *blob, e error) bool {
		var kind, name string
		if err = e; err == nil {
			kind, err = s.text(row, 0)
		}
		if err == nil && kind == "table" {
			name, err = s.text(row, 1)
		}
		if err == nil && name == table {
			root, err = s.number(row, 3)
		}
		return err == nil && root == 0
	})
	if err == nil && root == 0 {
		err = fmt.Errorf("a SQLite database without a table %s", table)
	}
	return root, err
}

// rows goes through a table's b-tree from its root, and says whether to go on.
func (s *sqlite) rows(n uint32, yield func(*blob, error) bool) bool {
	s.walked, s.depth = s.walked+1, s.depth+1
	defer func() { s.depth-- }()
	if s.walked > s.pages || s.depth > maxDepth {
		return yield(nil, errors.New("a table leads in a circle"))
	}
	page, err := s.page(n)
	if err != nil {
		return yield(nil, err)
	}
	head := page
	if n == 1 {
		head = page[100:] // the file's own head comes before
	}
	cells := int(binary.BigEndian.Uint16(head[3:]))
	switch head[0] {
	case interiorPage:
		return s.children(page, head[12:], cells, yield) && s.rows(binary.BigEndian.Uint32(head[8:]), yield)
	case leafPage:
		return s.cells(page, head[8:], cells, yield)
	}
	return yield(nil, fmt.Errorf("page %d belongs to no table", n))
}

// children goes through the pages that an interior page's cells name: page number, largest row id.
func (s *sqlite) children(page, pointers []byte, n int, yield func(*blob, error) bool) bool {
	for i := range n {
		cell, err := cellAt(page, pointers, i)
		if err != nil {
			return yield(nil, err)
		}
		if len(cell) < 4 {
			return yield(nil, errCell)
		}
		if !s.rows(binary.BigEndian.Uint32(cell), yield) {
			return false
		}
	}
	return true
}

// cells calls a function for each row of a leaf: size of the record, row id, record. The end of a long record is on
// overflow pages.
func (s *sqlite) cells(page, pointers []byte, n int, yield func(*blob, error) bool) bool {
	for i := range n {
		cell, err := cellAt(page, pointers, i)
		if err != nil {
			return yield(nil, err)
		}
		size, a := varint(cell)
		_, b := varint(cell[a:])
		row, err := s.record(cell[a+b:], size)
		if a == 0 || b == 0 {
			err = errCell
		}
		if !yield(row, err) || err != nil {
			return false
		}
	}
	return true
}

var errCell = errors.New("a cell lies outside its page")

func cellAt(page, pointers []byte, i int) ([]byte, error) {
	if len(pointers) < 2*i+2 {
		return nil, errCell
	}
	at := int(binary.BigEndian.Uint16(pointers[2*i:]))
	if at >= len(page) {
		return nil, errCell
	}
	return page[at:], nil
}
