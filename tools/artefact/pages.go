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
	got := &page{name, answer.Request.URL.String(), answer.Header.Get("ETag"), answer.Header.Get("Content-Type"), body}
	data, err := json.Marshal(got)
	if err != nil {
		return nil, err
	}
	return got, writeWhole(r.placeOf(name), data)
}

// Keep puts a page into a cache, as if it had been fetched from an address.
func Keep(cache, address, body string) error {
	r := Reader{Cache: cache}
	data, err := json.Marshal(page{Name: address, URL: address, Body: []byte(body)})
	if err != nil {
		return err
	}
	return writeWhole(r.placeOf(address), data)
}

// copied is a file of which somebody has a copy, or what was kept of one.
func (s *Source) copied(l Listed, name string) (*page, error) {
	if file := s.Copies[l.ID]; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return &page{Name: name, URL: name, Body: text}, Keep(s.Cache, name, string(text))
	}
	if p := s.kept(name); p != nil {
		return p, nil
	}
	return nil, noCopy(l)
}

// fromClone is what is read of a clone that somebody has, or what was kept of one.
func fromClone[T any](s *Source, l Listed, read func(clone string) ([]T, error)) (list []T, err error) {
	if clone := s.Copies[l.ID]; clone != "" {
		if list, err = read(clone); err != nil {
			return nil, err
		}
		body, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		return list, Keep(s.Cache, l.Address, string(body))
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

// kept is the page that was read last under a name; nil where there is none.
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
