package artefact

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/tables"
	"cudacompat/internal/tables/sheet"
	"cudacompat/tools/artefact/reading"
)

// Lock is data/lock.json, for writing.
type Lock sheet.Lock

// ReadLock reads the lock in a directory of tables; without one, nothing was read yet.
func ReadLock(dir string) (Lock, error) {
	lock, err := sheet.ReadLock(os.DirFS(dir))
	return Lock(lock), err
}

// Write writes it back.
func (l Lock) Write(dir string) error {
	text, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	return reading.WriteWhole(filepath.Join(dir, "lock.json"), append(text, '\n'))
}

// Match makes the lock's entries those of the list, which says what each one is.
func (l Lock) Match(list []Listed) {
	for _, listed := range list {
		one := l[listed.ID]
		if one == nil {
			one = &sheet.Locked{}
			l[listed.ID] = one
		}
		one.Tables, one.Projects, one.Address = listed.Tables, slices.Concat(listed.Projects, listed.Beside), listed.Address
		if listed.Reader == Watching {
			one.Projects = nil // it vouches for no row
		}
		one.Fixed, one.ByHand = listed.fixed(), listed.Reader == typed
	}
	maps.DeleteFunc(l, func(id string, _ *sheet.Locked) bool {
		return !slices.ContainsFunc(list, func(listed Listed) bool { return listed.ID == id })
	})
}

// Nothing returns why a wheel makes no row, where that is known.
func (l Lock) Nothing(id, wheel string) string {
	if l[id] == nil {
		return ""
	}
	return l[id].Nothing[wheel]
}

// Remember keeps it.
func (l Lock) Remember(id, wheel, why string) {
	if l[id].Nothing == nil {
		l[id].Nothing = map[string]string{}
	}
	l[id].Nothing[wheel] = why
}

// Fetched records the state of a source: of today or, if a copy was read, of the copy's day.
func (l Lock) Fetched(ctx context.Context, listed Listed, s *Source) error {
	sum, day := sha256.New(), time.Now().Format(time.DateOnly)
	if p := s.FindKept(listed.Address); p != nil {
		sum.Write(p.Body)
		day = cmp.Or(p.Day, day)
	}
	for _, project := range listed.Projects {
		files, err := s.ListFiles(ctx, project)
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
	locked := l[listed.ID]
	locked.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	if !s.Reader.Web.Offline {
		locked.Fetched = day
	}
	return nil
}

// Late reports that nobody has read a source for longer than allowed. Of pages it names the one read longest ago.
func (l Lock) Late(listed Listed) string {
	if listed.Reader == typed {
		oldest := ""
		for page, one := range l[listed.ID].Pages {
			if oldest == "" || one.Read+page < l[listed.ID].Pages[oldest].Read+oldest {
				oldest = page
			}
		}
		day, err := time.Parse(time.DateOnly, l[listed.ID].Pages[oldest].Read)
		if listed.fixed() || err != nil || time.Since(day) <= time.Duration(listed.MaxAge+1)*24*time.Hour {
			return ""
		}
		return fmt.Sprintf("%s was last read on %s, more than %d days ago", oldest, day.Format(time.DateOnly), listed.MaxAge)
	}
	if l[listed.ID] == nil || l[listed.ID].Fetched == "" {
		return "never read"
	}
	fetched := l[listed.ID].Fetched
	day, err := time.Parse(time.DateOnly, fetched)
	if err != nil || time.Since(day) <= time.Duration(listed.MaxAge+1)*24*time.Hour {
		return ""
	}
	return fmt.Sprintf("what was read is of %s, more than %d days ago", fetched, listed.MaxAge)
}

// Gone returns the wheels that rows are based on and that a source's list no longer contains.
func (s *Source) Gone(ctx context.Context, l Listed) ([]string, error) {
	var stops []string
	for _, project := range l.Projects {
		files, err := s.ListFiles(ctx, project)
		if err != nil {
			return nil, err
		}
		there := map[string]bool{}
		for _, f := range files {
			there[f.SHA256] = true
		}
		prefix := "wheel " + strings.ReplaceAll(project, "-", "_") + "-"
		for _, sources := range s.Data.sources {
			for _, source := range sheet.SourcesOf(sources) {
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
	text, err := tables.Open(os.DirFS(dir)).Dates()
	if err != nil {
		return err
	}
	return reading.WriteWhole(filepath.Join(dir, "dates.txt"), []byte(text))
}
