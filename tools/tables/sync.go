package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/pages"
	"cudacompat/tools/artefact/wheel"
)

// syncing is one run over the sources.
type syncing struct {
	*options
	data     *artefact.Data
	source   *artefact.Source
	lock     artefact.Lock
	progress *progress
	out      io.Writer

	changed []string          // sources whose rows are not as they were when they were read: all of them are read again
	whole   []string          // those that were read without a fault
	changes []artefact.Change // in the order in which they were found
	stops   []string          // what guards say
	tally
}

// tally counts wheels, and sources that could not be read.
type tally struct{ read, empty, unread, lacking int }

// sync reads the sources, prints one diff of all tables, and writes it if asked.
func (o *options) sync(ctx context.Context, data *artefact.Data, out, errs io.Writer) (int, error) {
	lock, err := artefact.ReadLock(o.data)
	if err != nil {
		return exitUsage, err
	}
	lock.Match(o.all)
	s := &syncing{options: o, data: data, lock: lock, progress: newProgress(errs), out: out}
	s.changed, _ = data.Broken(lock)
	web := wheel.NewWeb(o.pause)
	web.Seen, web.Offline = s.progress.seen, o.offline != ""
	s.source = artefact.NewSource(o.index, o.cache, web, data)
	s.source.Copies = o.copies
	for _, l := range o.sources {
		unread := s.unread
		if err := s.one(ctx, l); err != nil {
			s.unread++
			fmt.Fprintf(out, "%s: not read: %v\n", l.ID, err)
		}
		if s.unread == unread {
			s.whole = append(s.whole, l.ID)
		}
		if ctx.Err() != nil {
			return exitDiffers, errors.New("stopped; what was read is kept, the same command goes on from here")
		}
	}
	if o.release != "" && o.release != allReleases && s.read+s.empty+s.unread == 0 {
		return exitUsage, fmt.Errorf("no source has a wheel of %s for Linux", o.release)
	}
	for _, c := range data.Derive() {
		s.keep(c)
	}
	return s.finish()
}

// one reads one source.
func (s *syncing) one(ctx context.Context, l artefact.Listed) error {
	product, wheels := l.Product()
	if wheels {
		if err := s.wheels(ctx, l, product); err != nil {
			return err
		}
	} else {
		s.progress.begin(l.ID)
		rows, _, err := pages.Read(s.source, ctx, l)
		s.progress.end()
		var lacking *artefact.Lacking
		switch {
		case errors.As(err, &lacking):
			s.lacking++
			fmt.Fprintf(s.out, "%s: %v\n", l.ID, lacking)
		case err != nil:
			return err
		}
		for _, row := range rows {
			s.take(l.ID, row)
		}
	}
	gone, err := s.source.Gone(ctx, l)
	if err != nil {
		return err
	}
	s.stops = append(s.stops, gone...)
	return s.lock.Fetched(ctx, l, s.source)
}

// wheels reads the wheels of a source that the run is about.
func (s *syncing) wheels(ctx context.Context, l artefact.Listed, product artefact.Product) error {
	list, err := s.source.Candidates(ctx, product)
	if err != nil {
		return err
	}
	list = s.lackingOrAltered(l.ID, product, list)
	for i, c := range list {
		if why := s.lock.Nothing(l.ID, c.Name); why != "" && s.release == "" {
			continue
		}
		s.progress.begin(fmt.Sprintf("%d/%d %s", i+1, len(list), c.Name))
		rows, err := s.source.Rows(ctx, product, c)
		s.progress.end()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var empty *artefact.Empty
		switch {
		case errors.As(err, &empty):
			s.empty++
			s.lock.Remember(l.ID, c.Name, empty.Error())
			fmt.Fprintf(s.out, "%v: no row: %v\n", c, empty)
		case err != nil:
			s.unread++
			fmt.Fprintf(s.out, "%v: not read: %v\n", c, err)
		default:
			s.read++
			for _, row := range rows {
				s.take(l.ID, row)
			}
		}
	}
	return nil
}

// allReleases stands for every release that the table has, and those that it lacks.
const allReleases = "all"

// lackingOrAltered returns the candidates for the run. If a source's rows changed since the last read, these are the
// releases without a row and those whose row changed. If that is not enough to tell, it returns all candidates.
func (s *syncing) lackingOrAltered(id string, p artefact.Product, all []artefact.Candidate) []artefact.Candidate {
	if s.release != "" || !slices.Contains(s.changed, id) {
		return s.wanted(p, all, s.release)
	}
	altered := s.data.Altered(s.lock, id)
	list := slices.DeleteFunc(slices.Clone(all), func(c artefact.Candidate) bool {
		lacks := !s.data.Knows(p, c) && !c.Yanked && s.data.Reaches(p, c) && s.lock.Nothing(id, c.Name) == ""
		return !lacks && !s.data.Unsealed(p, c, altered)
	})
	if len(list) == 0 {
		return s.wanted(p, all, allReleases)
	}
	return list
}

// wanted returns the candidates of a release, or those missing in the table if no release is named. Withdrawn releases
// are not new.
func (s *syncing) wanted(p artefact.Product, list []artefact.Candidate, release string) []artefact.Candidate {
	return slices.DeleteFunc(list, func(c artefact.Candidate) bool {
		known := s.data.Knows(p, c)
		switch release {
		case allReleases:
			return !known && (c.Yanked || !s.data.Reaches(p, c))
		case "":
			return known || c.Yanked || !s.data.Reaches(p, c)
		}
		return !s.data.Names(p, release, c)
	})
}

// take compares a row of a source with the tables.
func (s *syncing) take(id string, row artefact.Row) {
	change := s.data.Compare(row)
	change.Source = id
	s.lock.Overrules(id, change)
	if change.Same() {
		if s.release != "" {
			fmt.Fprintf(s.out, "%s.csv: %s: as in the source\n", change.Table, strings.Join(change.Key, " "))
		}
		return
	}
	s.data.Apply(change)
	s.keep(change)
}

// keep adds a change to those of the run, into the one that a row has already.
func (s *syncing) keep(c artefact.Change) {
	i := slices.IndexFunc(s.changes, func(have artefact.Change) bool {
		return have.Table == c.Table && slices.Equal(have.Key, c.Key)
	})
	if i >= 0 {
		s.changes[i].New = c.New
		return
	}
	s.changes = append(s.changes, c)
}

// finish prints the diff, asks the guards, and writes.
func (s *syncing) finish() (int, error) {
	for _, c := range s.changes {
		show(s.out, c)
	}
	s.stops = append(s.stops, guards(s.changes)...)
	for _, stop := range s.stops {
		fmt.Fprintln(s.out, "stop:", stop)
	}
	for _, l := range s.sources {
		if late := s.lock.Late(l); late != "" {
			fmt.Fprintf(s.out, "%s: %s\n", l.ID, late)
		}
	}
	review := s.data.PastReview(time.Now().Format(time.DateOnly))
	for _, line := range review {
		fmt.Fprintln(s.out, line)
	}
	lacking := s.data.LackingByHand() // after what was read
	for _, line := range lacking {
		fmt.Fprintln(s.out, line)
	}
	held := len(s.stops) > 0 && !s.accept
	written := 0
	var err error
	if s.write && !held {
		written, err = s.put()
	}
	fmt.Fprintf(s.out, "%d sources, %d wheels: %d make no row, %d could not be read; %d rows differ, %d written\n",
		len(s.sources), s.read+s.empty, s.empty, s.unread, len(s.changes), written)
	switch {
	case err != nil:
		return exitDiffers, err
	case held && s.write:
		return exitDiffers, errors.New("nothing is written; --accept writes what is stopped here, once you have read it")
	case s.unread+s.lacking+len(review)+len(lacking) > 0, len(s.changes) > written, held:
		return exitDiffers, nil
	}
	return exitSame, nil
}

// put writes the changes, and then into the lock what was read.
func (s *syncing) put() (written int, err error) {
	taken := s.changes
	if s.data.Write(s.changes) != nil {
		taken = s.each()
	}
	data, err := artefact.OpenData(s.options.data)
	if err != nil {
		return len(taken), err
	}
	refused := func(id string) bool {
		return slices.ContainsFunc(s.changes, func(c artefact.Change) bool {
			return c.Source == id && !slices.ContainsFunc(taken, func(t artefact.Change) bool { return t.Table == c.Table && slices.Equal(t.Key, c.Key) })
		})
	}
	data.Follow(s.lock, taken)
	data.Seal(s.lock, slices.DeleteFunc(slices.Clone(s.whole), refused), nil)
	return len(taken), errors.Join(s.lock.Write(s.options.data), artefact.WriteDates(s.options.data))
}

// each applies the changes one by one and reports which the linter rejects. A row may depend on a later row of another
// table, so rejected rows are tried again as long as any is accepted.
func (s *syncing) each() (taken []artefact.Change) {
	left, refused := s.changes, []string(nil)
	for again := true; again; {
		again, refused = false, nil
		var still []artefact.Change
		for _, c := range left {
			if err := s.data.Write([]artefact.Change{c}); err != nil {
				still = append(still, c)
				refused = append(refused, fmt.Sprintf("%s.csv: %s: %v", c.Table, strings.Join(c.Key, " "), err))
				continue
			}
			taken = append(taken, c)
			again = true
		}
		left = still
	}
	for _, line := range refused {
		fmt.Fprintln(s.out, line)
	}
	return taken
}

// show prints a change: the whole row if it is new, else the cells that differ.
func show(out io.Writer, c artefact.Change) {
	name := c.Table + ".csv: " + strings.Join(c.Key, " ")
	if c.Old == nil {
		fmt.Fprintf(out, "%s: new\n%s\n", name, c.CSV())
		return
	}
	fmt.Fprintf(out, "%s: differs\n", name)
	for _, i := range c.Differs() {
		fmt.Fprintf(out, "  - %s: %s\n  + %s: %s\n", c.Columns[i], c.Old[i], c.Columns[i], c.New[i])
	}
}
