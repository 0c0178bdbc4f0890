package rpmdb

import (
	"encoding/binary"
	"errors"
	"io"
)

// A write-ahead log is a header of 32 bytes (magic, version, page size, checkpoint, two salts, two checksums) and
// frames: 24 bytes (page, database size after a commit or 0, the salts, the checksums so far) and the page. Everything
// is big-endian; the checksums are over words in the byte order that the magic's last bit gives. Frames of an earlier
// checkpoint may follow; their salts differ.
const (
	walMagic     = 0x377f0682
	walHead      = 32
	walFrameHead = 24
)

// readLog notes the pages whose newest committed content stands in the log.
func (s *sqlite) readLog() error {
	head := make([]byte, walHead)
	if _, err := io.ReadFull(io.NewSectionReader(s.log, 0, walHead), head); err != nil {
		return nil // empty, as after a checkpoint
	}
	magic := binary.BigEndian.Uint32(head)
	sums := walSums{order: binary.LittleEndian}
	if magic&1 == 1 {
		sums.order = binary.BigEndian
	}
	if sums.add(head[:24]); magic&^1 != walMagic || !sums.match(head[24:]) {
		return nil // SQLite takes such a log for empty
	}
	if int64(binary.BigEndian.Uint32(head[8:])) != s.pageSize {
		return errors.New("its write-ahead log has pages of another size")
	}
	s.frames(head[16:24], sums)
	return nil
}

// frames reads the log as far as it is intact. A commit may claim any size, but there are no more pages than the file
// and the log contain.
func (s *sqlite) frames(salts []byte, sums walSums) {
	pending := map[uint32]int64{} // of a transaction whose end is not seen yet
	s.inLog = map[uint32]int64{}
	frame, most := make([]byte, walFrameHead+s.pageSize), s.pages
	for at := int64(walHead); ; at += int64(len(frame)) {
		if _, err := s.log.ReadAt(frame, at); err != nil {
			return
		}
		sums.add(frame[:8])
		sums.add(frame[walFrameHead:])
		if string(frame[8:16]) != string(salts) || !sums.match(frame[16:24]) {
			return
		}
		most++
		pending[binary.BigEndian.Uint32(frame)] = at + walFrameHead
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 {
			s.pages = min(pages, most)
			for n, place := range pending {
				s.inLog[n] = place
			}
			clear(pending)
		}
	}
}

// walSums are the two running sums of a log.
type walSums struct {
	order binary.ByteOrder
	a, b  uint32
}

func (s *walSums) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		s.a += s.order.Uint32(data) + s.b
		s.b += s.order.Uint32(data[4:]) + s.a
	}
}

func (s *walSums) match(data []byte) bool {
	return binary.BigEndian.Uint32(data) == s.a && binary.BigEndian.Uint32(data[4:]) == s.b
}
