package host

import (
	"bytes"
	"io"

	"cudacompat/internal/lazyregexp"
)

// Search returns the first match of pattern and its groups in at most limit bytes of r, or nil, in constant memory. It
// tries the pattern only where its literal occurs, which is far cheaper. It may miss a match longer than overlap bytes.
func Search(r io.Reader, literal string, pattern *lazyregexp.Regexp, limit int64) ([]string, error) {
	const chunk, overlap = 64 << 10, 256
	buf := make([]byte, 0, chunk+overlap)
	r = io.LimitReader(r, limit)
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if bytes.Contains(buf, []byte(literal)) {
			if m := pattern.FindSubmatch(buf); m != nil {
				return texts(m), nil
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		buf = append(buf[:0], buf[len(buf)-overlap:]...)
	}
}

// SearchFirst returns the first group of Search's match, or "".
func SearchFirst(r io.Reader, literal string, pattern *lazyregexp.Regexp, limit int64) (string, error) {
	m, err := Search(r, literal, pattern, limit)
	if m == nil {
		return "", err
	}
	return m[1], nil
}

func texts(groups [][]byte) []string {
	list := make([]string, len(groups))
	for i, g := range groups {
		list[i] = string(g)
	}
	return list
}
