package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"cudacompat/internal/redact"
)

// Decode returns a text as UTF-8 with lines that end in one character, without its credentials: no part of one reaches
// a parser. PowerShell writes UTF-16 with a byte order mark, Notepad UTF-8 with one.
func Decode(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xFF\xFE")):
		data = fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		data = fromUTF16(data[2:], binary.BigEndian)
	}
	if archive(data) {
		return nil, ErrArchive
	}
	if data = bytes.TrimPrefix(data, []byte("\uFEFF")); bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return redact.Document(bytes.TrimLeft(data, " \t\r\n")), nil
}

// fromUTF16 writes each character as it is read, because a list of all would be four times the text.
func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	text := make([]byte, 0, len(data)/2)
	for ; len(data) > 1; data = data[2:] {
		r := rune(order.Uint16(data))
		if utf16.IsSurrogate(r) && len(data) > 3 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(data[2:]))); pair != unicode.ReplacementChar {
				r, data = pair, data[2:]
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}

// ErrArchive is the error for a container image where its content is expected.
var ErrArchive = errors.New("this is an archive or a part of one, and no image that is read")

// archive recognises tar, gzip, zstd, xz, bzip2 and zip, and the documents of an OCI layout.
func archive(data []byte) bool {
	for _, magic := range []string{"\x1F\x8B", "\x28\xB5\x2F\xFD", "\xFD7zXZ\x00", "BZh", "PK\x03\x04"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	tar := len(data) > 262 && string(data[257:262]) == "ustar"
	return tar || bytes.HasPrefix(data, []byte("{")) &&
		(bytes.Contains(data[:min(len(data), 4096)], []byte(`"imageLayoutVersion"`)) ||
			bytes.Contains(data[:min(len(data), 4096)], []byte(`application/vnd.oci.image.`)))
}
