package given

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"

	"cudacompat/internal/voice"
)

// decoded is a text as UTF-8 with lines that end in one character, without its credentials: no part of one reaches a
// parser. PowerShell writes UTF-16 with a byte order mark, Notepad UTF-8 with one.
func decoded(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xFF\xFE")):
		data = fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		data = fromUTF16(data[2:], binary.BigEndian)
	}
	if archive(data) {
		return nil, ErrArchive
	}
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	return voice.Document(bytes.TrimLeft(data, " \t\r\n")), nil
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// ErrArchive is an image of a container in place of what is in it.
var ErrArchive = errors.New("this is an archive or a part of one, and no image that is read")

// archive recognises tar, gzip, zstd, xz and zip, and the documents of an OCI layout.
func archive(data []byte) bool {
	for _, magic := range []string{"\x1F\x8B", "\x28\xB5\x2F\xFD", "\xFD7zXZ\x00", "PK\x03\x04"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	tar := len(data) > 262 && string(data[257:262]) == "ustar"
	return tar || bytes.HasPrefix(data, []byte("{")) &&
		(bytes.Contains(data[:min(len(data), 4096)], []byte(`"imageLayoutVersion"`)) ||
			bytes.Contains(data[:min(len(data), 4096)], []byte(`application/vnd.oci.image.`)))
}
