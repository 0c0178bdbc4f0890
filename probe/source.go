package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// Options bounds a run and names the environments to read.
type Options struct {
	Timeout time.Duration       // of everything; 0 means 10 s for files and NVML's own by the number of GPUs
	Envs    []string            // Python environments asked for by name
	Tell    func(source string) // is told which source of facts is being read; it must not wait. nil tells nobody
	soFar   *partial            // where a source leaves what it has, before it has all
}

// filesLimit returns how long files are read.
func (o Options) filesLimit() time.Duration { return cmp.Or(o.Timeout, filesTimeout) }

// partial contains what a slow source has found so far. It is used at the deadline.
type partial struct {
	ctx   context.Context // what is told after its end lacks what could no longer be read
	mutex sync.Mutex
	last  source.Update
}

// announce reports the source that is read next.
func (o Options) announce(source string) {
	if o.Tell != nil {
		o.Tell(source)
	}
}

// keep stores what a source has found so far. It drops updates that come after the end of the context, because they
// lack what could no longer be read.
func (o Options) keep(apply source.Update) {
	if o.soFar != nil {
		o.soFar.mutex.Lock()
		defer o.soFar.mutex.Unlock()
		if o.soFar.ctx.Err() == nil {
			o.soFar.last = apply
		}
	}
}

// kept returns what the running source has stored.
func (o Options) kept() source.Update {
	if o.soFar == nil {
		return noUpdate
	}
	o.soFar.mutex.Lock()
	defer o.soFar.mutex.Unlock()
	if o.soFar.last == nil {
		return noUpdate
	}
	return o.soFar.last
}

// A reader reads one source of facts, by readHost, or by read where the options matter.
type reader struct {
	name     string
	live     bool // only on the running machine
	needs    need // what a place that it could not see means
	readHost func(*Host) (source.Update, error)
	read     func(*Host, Options) (source.Update, error)
}

// markCut records that a source did not finish. This matters only for the search for builds, because nobody knows which
// builds it missed.
func (r reader) markCut(f *Facts, reason string) {
	if r.name == "python" {
		f.Unread = append(f.Unread, facts.Unread{Kind: facts.UnreadCut, Place: "Python environments", Reason: reason})
	}
}

// run runs one reader. A panic on an unexpected file loses only what this source had not yet stored.
func (r reader) run(h *Host, opt Options) (apply source.Update, status facts.Status) {
	status = facts.Status{Name: r.name, Status: "ok"}
	started := time.Now()
	defer func() {
		if bug := recover(); bug != nil {
			status.Status, status.Error = "failed", fmt.Sprintf("bug in this probe: %v", bug)
			told := opt.kept()
			apply = func(f *Facts) { told(f); r.markCut(f, status.Error) }
		}
		status.Seconds = time.Since(started).Seconds()
	}()
	if r.live && h.Rest {
		status.Status, status.Error = "skipped", "only files are read (--root, --offline)"
		return noUpdate, status
	}
	apply, err := r.readFacts(h, opt)
	if apply == nil {
		apply = noUpdate
	}
	switch {
	case err == nil:
	case errors.Is(err, host.ErrAbsent) || host.Absent(err):
		status.Status = "absent"
	case errors.As(err, new(source.Skipped)):
		status.Status, status.Error = "skipped", err.Error()
	default:
		status.Status, status.Error = "failed", err.Error()
	}
	return apply, status
}

// readFacts calls whichever of the two read functions is set.
func (r reader) readFacts(h *Host, opt Options) (source.Update, error) {
	if r.readHost != nil {
		return r.readHost(h)
	}
	return r.read(h, opt)
}

// noUpdate changes no facts.
func noUpdate(*facts.Facts) {}
