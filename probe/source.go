package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/source"
)

// Options bounds a run and says which environments to look at.
type Options struct {
	Timeout time.Duration       // of everything; 0 means 10 s for files and NVML's own by the number of GPUs
	Envs    []string            // Python environments asked for by name
	Tell    func(source string) // is told which source of facts is being read; it must not wait. nil tells nobody
	soFar   *soFar              // where a source leaves what it has, before it has all
}

// soFar is what a source has found before it has found all: the last of it stands when time is up.
type soFar struct {
	ctx   context.Context // what is told after its end lacks what could no longer be read
	mutex sync.Mutex
	last  source.Update
}

// begin tells which source is being read.
func (o Options) begin(source string) {
	if o.Tell != nil {
		o.Tell(source)
	}
}

// tell leaves what a source has by now.
func (o Options) tell(apply source.Update) {
	if o.soFar != nil {
		o.soFar.mutex.Lock()
		defer o.soFar.mutex.Unlock()
		if o.soFar.ctx.Err() == nil {
			o.soFar.last = apply
		}
	}
}

// foundSoFar is what a source has left.
func (o Options) foundSoFar() source.Update {
	if o.soFar == nil {
		return nothing
	}
	o.soFar.mutex.Lock()
	defer o.soFar.mutex.Unlock()
	if o.soFar.last == nil {
		return nothing
	}
	return o.soFar.last
}

// A reader reads one source of facts, by readHost, or by read where the options matter.
type reader struct {
	name     string
	live     bool // only on the running machine
	readHost func(*Host) (source.Update, error)
	read     func(*Host, Options) (source.Update, error)
}

// markCut marks that a source did not come to its end; of one that finds builds nobody knows then what it left out.
func (r reader) markCut(f *Facts, reason string) {
	if r.name == "python" {
		f.Unread = append(f.Unread, facts.Unread{Kind: facts.UnreadCut, Place: "Python environments", Reason: reason})
	}
}

// run reads one source; a panic on a file nobody foresaw costs what this source had not told, and nothing else.
func (r reader) run(h *Host, opt Options) (apply source.Update, status facts.Status) {
	status = facts.Status{Name: r.name, Status: "ok"}
	started := time.Now()
	defer func() {
		if bug := recover(); bug != nil {
			status.Status, status.Error = "failed", fmt.Sprintf("bug in this probe: %v", bug)
			told := opt.foundSoFar()
			apply = func(f *Facts) { told(f); r.markCut(f, status.Error) }
		}
		status.Seconds = time.Since(started).Seconds()
	}()
	if r.live && h.Rest {
		status.Status, status.Error = "skipped", "only files are read (--root, --offline)"
		return nothing, status
	}
	apply, err := r.readFacts(h, opt)
	if apply == nil {
		apply = nothing
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

func (r reader) readFacts(h *Host, opt Options) (source.Update, error) {
	if r.readHost != nil {
		return r.readHost(h)
	}
	return r.read(h, opt)
}

func nothing(*facts.Facts) {}
