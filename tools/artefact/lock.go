package artefact

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/tables"
)

// Lock says of each source what it was when it was last read: data/lock.json.
type Lock map[string]*Locked

// Locked is one source of the lock.
type Locked struct {
	Fetched string            `json:"fetched"`           // the day
	SHA256  string            `json:"sha256"`            // of the list of its files, or of the page
	Nothing map[string]string `json:"nothing,omitempty"` // wheels that make no row, and why: nobody reads them again
}

// ReadLock reads the lock in a directory of tables; without one, nothing was read yet.
func ReadLock(dir string) (Lock, error) {
	lock := Lock{}
	text, err := os.ReadFile(filepath.Join(dir, "lock.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return lock, nil
	}
	if err == nil {
		if err = json.Unmarshal(text, &lock); err != nil {
			err = fmt.Errorf("%s: %w", filepath.Join(dir, "lock.json"), err)
		}
	}
	return lock, err
}

// Write writes it back.
func (l Lock) Write(dir string) error {
	text, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(dir, "lock.json"), append(text, '\n'))
}

func (l Lock) of(id string) *Locked {
	if l[id] == nil {
		l[id] = &Locked{Nothing: map[string]string{}}
	}
	if l[id].Nothing == nil {
		l[id].Nothing = map[string]string{}
	}
	return l[id]
}

// Nothing is why a wheel makes no row, where that is known.
func (l Lock) Nothing(id, wheel string) string {
	if l[id] == nil {
		return ""
	}
	return l[id].Nothing[wheel]
}

// Remember keeps it.
func (l Lock) Remember(id, wheel, why string) { l.of(id).Nothing[wheel] = why }

// Fetched keeps what a source was today.
func (l Lock) Fetched(ctx context.Context, listed Listed, s *Source) error {
	sum := sha256.New()
	if p := s.kept(listed.Address); p != nil {
		sum.Write(p.Body)
	}
	for _, project := range listed.Projects {
		files, err := s.files(ctx, project)
		if err != nil {
			return err
		}
		var lines []string
		for _, f := range files {
			lines = append(lines, f.Name+" "+f.SHA256+"\n")
		}
		slices.Sort(lines)
		sum.Write([]byte(strings.Join(lines, "")))
	}
	locked := l.of(listed.ID)
	locked.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	if !s.Reader.Web.Offline {
		locked.Fetched = time.Now().Format(time.DateOnly)
	}
	return nil
}

// Late says that nobody has looked at a source for longer than it may be.
func (l Lock) Late(listed Listed) string {
	if l[listed.ID] == nil || l[listed.ID].Fetched == "" {
		return "never read"
	}
	fetched := l[listed.ID].Fetched
	day, err := time.Parse(time.DateOnly, fetched)
	if err != nil || time.Since(day) <= time.Duration(listed.MaxAge+1)*24*time.Hour {
		return ""
	}
	return fmt.Sprintf("last read on %s, more than %d days ago", fetched, listed.MaxAge)
}

// Gone are the wheels on which rows rest and that a source's list no longer has: it lost them, or it is another one.
func (s *Source) Gone(ctx context.Context, l Listed) ([]string, error) {
	var stops []string
	for _, project := range l.Projects {
		files, err := s.files(ctx, project)
		if err != nil {
			return nil, err
		}
		there := map[string]bool{}
		for _, f := range files {
			there[f.SHA256] = true
		}
		prefix := "wheel " + strings.ReplaceAll(project, "-", "_") + "-"
		for line := range strings.Lines(s.data.sources) {
			for _, source := range tables.SourcesOf(strings.TrimSpace(line)) {
				_, sum, _ := strings.Cut(source, "sha256:")
				if strings.HasPrefix(source, prefix) && !there[sum] {
					stops = append(stops, fmt.Sprintf("%s: %s is not on its list any more", l.ID, source))
				}
			}
		}
	}
	slices.Sort(stops)
	return slices.Compact(stops), nil
}

// WriteDates writes dates.txt, as `go generate ./data` does.
func WriteDates(dir string) error {
	sources, err := tables.Open(os.DirFS(dir)).Sources()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, s := range sources {
		fmt.Fprintln(&text, s.Name, s.Date, s.Hash)
	}
	return writeWhole(filepath.Join(dir, "dates.txt"), []byte(text.String()))
}
