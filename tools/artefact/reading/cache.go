package reading

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"cudacompat/tools/artefact/wheel"
)

// Page is an answer that is kept with what tells whether there is a newer one.
type Page struct {
	Name string // what was asked for, without the index's host
	URL  string // where it came from in the end
	ETag string
	Type string
	Body []byte
	Day  string `json:",omitempty"` // of a copy: the one of which it is; else what is there today was asked for
}

// ErrNotKept is the error for a page that would have to be fetched.
var ErrNotKept = errors.New("not in the cache, and nothing is fetched offline")

// ReadPage fetches what changes under one address: a project's list, a manifest. It is kept in the cache under its
// name, and an unchanged one is not sent again.
func (r *Reader) ReadPage(ctx context.Context, name, address, accept string) (*Page, error) {
	kept := r.FindKept(name)
	if r.Web.Offline {
		if kept == nil {
			return nil, fmt.Errorf("%s: %w", name, ErrNotKept)
		}
		return kept, nil
	}
	header := http.Header{"Accept": {accept}}
	if kept != nil && kept.ETag != "" {
		header.Set("If-None-Match", kept.ETag)
	}
	answer, err := r.Web.Get(ctx, address, header)
	if status := new(wheel.StatusError); errors.As(err, &status) && status.Code == http.StatusNotModified && kept != nil {
		return kept, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, wheel.MaxPage))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	got := &Page{Name: name, URL: answer.Request.URL.String(), ETag: answer.Header.Get("ETag"),
		Type: answer.Header.Get("Content-Type"), Body: body}
	data, err := json.Marshal(got)
	if err != nil {
		return nil, err
	}
	return got, WriteWhole(r.placeOf(name), data)
}

// Keep puts a page into a cache as if it had been fetched from an address, with its day if it is a copy.
func Keep(cache, address, day, body string) error {
	r := Reader{Cache: cache}
	data, err := json.Marshal(Page{Name: address, URL: address, Body: []byte(body), Day: day})
	if err != nil {
		return err
	}
	return WriteWhole(r.placeOf(address), data)
}

// FindKept returns the page that was last read under a name, or nil.
func (r *Reader) FindKept(name string) *Page {
	p := new(Page)
	if data, err := os.ReadFile(r.placeOf(name)); err != nil || json.Unmarshal(data, p) != nil {
		return nil
	}
	return p
}

func (r *Reader) placeOf(name string) string {
	return filepath.Join(r.Cache, "pages", fmt.Sprintf("%x.json", sha256.Sum256([]byte(name))))
}
