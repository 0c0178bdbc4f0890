package artefact

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// page is an answer that is kept with what tells whether there is a newer one.
type page struct {
	Name string // what was asked for, without the index's host
	URL  string // where it came from in the end
	ETag string
	Type string
	Body []byte
	Day  string `json:",omitempty"` // of a copy: the one of which it is; else what is there today was asked for
}

var errNotKept = errors.New("not in the cache, and nothing is fetched offline")

// page fetches what changes under one address: a project's list, a manifest. It is kept in the cache under its name, and
// an unchanged one is not sent again.
func (r *Reader) page(ctx context.Context, name, address, accept string) (*page, error) {
	kept := r.kept(name)
	if r.Web.Offline {
		if kept == nil {
			return nil, fmt.Errorf("%s: %w", name, errNotKept)
		}
		return kept, nil
	}
	header := http.Header{"Accept": {accept}}
	if kept != nil && kept.ETag != "" {
		header.Set("If-None-Match", kept.ETag)
	}
	answer, err := r.Web.get(ctx, address, header)
	if status := new(statusError); errors.As(err, &status) && status.code == http.StatusNotModified && kept != nil {
		return kept, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPage))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	got := &page{Name: name, URL: answer.Request.URL.String(), ETag: answer.Header.Get("ETag"),
		Type: answer.Header.Get("Content-Type"), Body: body}
	data, err := json.Marshal(got)
	if err != nil {
		return nil, err
	}
	return got, writeWhole(r.placeOf(name), data)
}

// Keep puts a page into a cache as if it had been fetched from an address, with its day if it is a copy.
func Keep(cache, address, day, body string) error {
	r := Reader{Cache: cache}
	data, err := json.Marshal(page{Name: address, URL: address, Body: []byte(body), Day: day})
	if err != nil {
		return err
	}
	return writeWhole(r.placeOf(address), data)
}

// copied returns a file of which somebody has a copy, or the kept part of one. dayOf reads its date from it.
func (s *Source) copied(l Listed, dayOf func(text []byte) (string, error)) ([]byte, error) {
	if file := s.Copies[l.ID]; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		day, err := dayOf(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return text, Keep(s.Cache, l.Address, day, string(text))
	}
	if p := s.kept(l.Address); p != nil {
		return p.Body, nil
	}
	return nil, noCopy(l)
}

// fromClone returns what is read from somebody's clone, or the kept part of one. Its date is that of its newest tag.
func fromClone[T any](s *Source, l Listed, read func(clone string) ([]T, error)) (list []T, err error) {
	if clone := s.Copies[l.ID]; clone != "" {
		if list, err = read(clone); err != nil {
			return nil, err
		}
		body, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		day, err := git(clone, "for-each-ref", "--sort=-creatordate", "--count=1", "--format=%(creatordate:short)", "refs/tags")
		if err != nil {
			return nil, err
		}
		return list, Keep(s.Cache, l.Address, strings.TrimSpace(day), string(body))
	}
	p := s.kept(l.Address)
	if p == nil {
		return nil, noCopy(l)
	}
	return list, json.Unmarshal(p.Body, &list)
}

func noCopy(l Listed) error {
	return fmt.Errorf("it is read from a copy: --copy %s=PATH (%s)", l.ID, l.Copy)
}

// kept returns the page that was last read under a name, or nil.
func (r *Reader) kept(name string) *page {
	p := new(page)
	if data, err := os.ReadFile(r.placeOf(name)); err != nil || json.Unmarshal(data, p) != nil {
		return nil
	}
	return p
}

func (r *Reader) placeOf(name string) string {
	return filepath.Join(r.Cache, "pages", fmt.Sprintf("%x.json", sha256.Sum256([]byte(name))))
}

// projectFiles lists the wheels of one project, in the form that the index has.
func (s *Source) projectFiles(ctx context.Context, project string) ([]File, error) {
	address := strings.TrimRight(s.Index.Address, "/") + "/" + project + "/"
	p, err := s.page(ctx, "project "+project, address, simpleTypes)
	if err != nil {
		return nil, fmt.Errorf("the index has no page for %w", err)
	}
	at, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	return filesOn(project, p.Type, p.Body, at)
}
