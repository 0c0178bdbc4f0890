package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// server is an index of the wheels in testdata/index.txtar.
type server struct {
	*httptest.Server
	html    bool                                                  // speak HTML, not JSON
	whole   bool                                                  // send no parts
	serve   func(http.ResponseWriter, *http.Request, []byte) bool // answers for a wheel in another way; true: it did
	pages   map[string]string                                     // what is on no package index, by path
	wheels  map[string][]byte
	mu      sync.Mutex
	fetched map[string]int // requests by wheel
}

func newServer(t *testing.T) *server {
	archive, err := txtar.ParseFile("testdata/index.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{wheels: map[string][]byte{}, fetched: map[string]int{}}
	members := map[string]map[string][]byte{}
	for _, f := range archive.Files {
		wheel, member, _ := strings.Cut(f.Name, "/")
		if members[wheel] == nil {
			members[wheel] = map[string][]byte{}
		}
		members[wheel][member] = f.Data
	}
	for name, files := range members {
		s.wheels[name] = wheelOf(t, files)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler: /simple/PROJECT/ and /files/WHEEL.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	wheel, known := s.wheels[name]
	page, isPage := s.pages[r.URL.Path]
	switch {
	case isPage:
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(page)))
		if w.Header().Set("ETag", tag); r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		s.mu.Lock()
		s.fetched[r.URL.Path]++
		s.mu.Unlock()
		fmt.Fprint(w, page)
	case strings.HasPrefix(r.URL.Path, "/simple/"):
		s.page(w, name)
	case !known:
		http.NotFound(w, r)
	default:
		s.mu.Lock()
		s.fetched[name]++
		s.mu.Unlock()
		if s.serve != nil && s.serve(w, r, wheel) {
			return
		}
		if s.whole {
			w.Write(wheel)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(wheel))
	}
}

// page lists a project's wheels, with addresses relative to the page.
func (s *server) page(w http.ResponseWriter, project string) {
	var files []map[string]any
	var anchors string
	for name, wheel := range s.wheels {
		if p, _, _ := strings.Cut(name, "-"); strings.ReplaceAll(p, "_", "-") != project {
			continue
		}
		sum, address := fmt.Sprintf("%x", sha256.Sum256(wheel)), "../../files/"+name
		files = append(files, map[string]any{"filename": name, "url": address, "hashes": map[string]string{"sha256": sum},
			"yanked": false})
		anchors += fmt.Sprintf("<a href=\"%s#sha256=%s\">%s</a>\n", address, sum, name)
	}
	files = append(files, map[string]any{"filename": project + "-99.0-py3-none-any.whl", "url": "gone",
		"yanked": "it was wrong"})
	if s.html {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, anchors, `<a href="gone" data-yanked="it was wrong">`, project, `-99.0-py3-none-any.whl</a>`)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	json.NewEncoder(w).Encode(map[string]any{"files": files})
}

// wheelOf makes the zip.
func wheelOf(t *testing.T, members map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range members {
		switch {
		case strings.Contains(name, ".so"):
			data = libraryOf(string(data))
		case strings.HasSuffix(name, ".gz"):
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			w.Write(data)
			w.Close()
			data = packed.Bytes()
		}
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	target = regexp.MustCompile(`(sm|compute)_(\d+)`)
	number = regexp.MustCompile(`(?m)(?:^| )(\d{4,})\b`)
)

// libraryOf returns an ELF file with machine code for the targets that the text names, the numbers in its own code, and
// the text itself among its constants.
func libraryOf(text string) []byte {
	le := binary.LittleEndian
	var entries, code []byte
	for _, m := range target.FindAllStringSubmatch(text, -1) {
		arch, _ := strconv.Atoi(m[2])
		e := make([]byte, 64+4096)
		le.PutUint16(e, map[string]uint16{"compute": 1, "sm": 2}[m[1]])
		le.PutUint32(e[4:], 64)
		le.PutUint64(e[8:], 4096)
		le.PutUint16(e[26:], 9) // PTX 9.0
		le.PutUint32(e[28:], uint32(arch))
		entries = append(entries, e...)
	}
	fatbin := le.AppendUint32(nil, 0xBA55ED50)
	fatbin = le.AppendUint16(fatbin, 1)
	fatbin = le.AppendUint16(fatbin, 16)
	fatbin = append(le.AppendUint64(fatbin, uint64(len(entries))), entries...)
	for _, m := range number.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		code = append(le.AppendUint32(append(code, 0xbf), uint32(n)), 0xe8, 0, 0, 0, 0) // mov edi, n; call
	}
	if len(entries) == 0 {
		fatbin = nil
	}
	return elfOf(map[string][]byte{".nv_fatbin": fatbin, ".rodata": []byte(text), ".text": code})
}

func elfOf(sections map[string][]byte) []byte {
	le := binary.LittleEndian
	names, file := "\x00.shstrtab\x00", make([]byte, 64)
	table := make([]byte, 64) // the first is empty
	add := func(name, kind int, data []byte) {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(name))
		le.PutUint32(h[4:], uint32(kind))
		le.PutUint64(h[24:], uint64(len(file)))
		le.PutUint64(h[32:], uint64(len(data)))
		file, table = append(file, data...), append(table, h...)
	}
	for name, data := range sections {
		add(len(names), 1, data)
		names += name + "\x00"
	}
	add(1, 3, []byte(names))
	copy(file, "\x7fELF\x02\x01\x01")
	le.PutUint16(file[16:], 3)  // a library
	le.PutUint16(file[18:], 62) // for x86-64
	le.PutUint32(file[20:], 1)
	le.PutUint64(file[40:], uint64(len(file)))
	le.PutUint16(file[52:], 64)
	le.PutUint16(file[58:], 64)
	le.PutUint16(file[60:], uint16(len(table)/64))
	le.PutUint16(file[62:], uint16(len(table)/64-1))
	return append(file, table...)
}
