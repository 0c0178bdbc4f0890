package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cudacompat/internal/budget"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/container"
	"cudacompat/probe/internal/driver"
	"cudacompat/probe/internal/efa"
	"cudacompat/probe/internal/gpu"
	"cudacompat/probe/internal/kernel"
	"cudacompat/probe/internal/nvml"
	"cudacompat/probe/internal/process"
	"cudacompat/probe/internal/source"
	"cudacompat/probe/internal/system"
	"cudacompat/probe/internal/toolkit"
)

// filesTimeout bounds the reading of files, because a dead network mount must not hang the doctor.
const filesTimeout = 10 * time.Second

// sources lists the readers of facts in the order in which they run and are reported.
var sources = []reader{
	{name: "system", readHost: system.Read},
	{name: "instance", readHost: system.ReadInstance},
	{name: "proc-driver", readHost: driver.ReadLoaded},
	{name: "driver-libraries", readHost: driver.ReadLibraries},
	{name: "kernel-log", readHost: kernel.ReadLog},
	{name: "boot", readHost: kernel.ReadBoot},
	{name: "installers", readHost: driver.ReadInstallers},
	{name: "firmware", readHost: driver.ReadFirmware},
	{name: "secure-boot", readHost: kernel.ReadSecureBoot},
	{name: "module-build", readHost: driver.ReadModuleBuild},
	{name: "container-runtimes", readHost: container.ReadRuntimes},
	{name: "driver-packages", readHost: driver.ReadPackages}, // says the releases of those
	{name: "fabric", readHost: driver.ReadFabric},
	{name: "grid", readHost: driver.ReadGRID},
	{name: "updates", readHost: driver.ReadUpdates},
	{name: "processes", live: true, readHost: process.ReadJob},
	{name: "pci", readHost: gpu.ReadPCI},
	{name: "peer-to-peer", live: true, readHost: gpu.ReadPeers},
	{name: "efa", readHost: efa.Read},
	{name: "toolkits", readHost: toolkit.Read},
	{name: "building", readHost: toolkit.ReadBuilding},
	{name: "libraries", readHost: toolkit.ReadLibraries},
	{name: "variables", live: true, readHost: process.ReadVariables},
	{name: "devices", live: true, readHost: process.ReadDevices},
	{name: "container", live: true, readHost: container.Read},
	{name: "python", read: readPython},
	{name: "caches", read: readCaches},
	{name: "gpu-numbers", readHost: gpu.ReadNumbers},       // a driver that hangs keeps nothing else back
	{name: "driver-modules", readHost: driver.ReadModules}, // last: unpacking those of many kernels can take seconds
}

// Run reads every source of facts on the host. It never hangs and never fails as a whole: a source that cannot be read
// is named in Facts.Probes, and the results of the others stand.
func Run(ctx context.Context, h *Host, opt Options) Facts {
	h = h.Fresh()
	wait := nvml.Start(ctx, h, opt.Timeout)
	facts := runSources(ctx, h, opt)
	opt.announce("the driver's answer")
	answer := wait()
	answer.Place(&Host{Root: h.Root, Env: h.Env}) // a source that hangs may still use the other one
	answer.Apply(&facts)
	facts.Probes = append(facts.Probes, answer.Status())
	facts.Complete()
	facts.Anonymous()
	return facts
}

// runSources runs all sources.
func runSources(ctx context.Context, h *Host, opt Options) Facts {
	return runReaders(ctx, h, opt, sources)
}

// runReaders runs readers in a goroutine that it abandons if a file system never answers. It applies the results at the
// end, in one go, because waking another goroutine for each source would take longer than many sources do.
func runReaders(ctx context.Context, h *Host, opt Options, sources []reader) Facts {
	limit := filesTimeout
	if opt.Timeout > 0 {
		limit = opt.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		apply  source.Update
		status facts.Status
	}
	h.Budget = budget.Usual(ctx)
	results := make(chan result, len(sources))
	opt.soFar = &partial{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, s := range sources {
			if ctx.Err() != nil {
				return
			}
			opt.keep(nil) // what the one before told is in its result
			opt.announce(s.name)
			apply, status := s.run(h, opt)
			if ctx.Err() != nil {
				return // what it could not read for lack of time is no answer
			}
			results <- result{withSkipped(apply, h.DrainSkipped()), status}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	read := len(results)
	var facts Facts
	for range read {
		r := <-results
		r.apply(&facts)
		facts.Probes = append(facts.Probes, r.status)
	}
	if read < len(sources) {
		opt.kept()(&facts)
	}
	return markUnread(ctx, facts, sources[read:], limit)
}

// withSkipped adds the directories that a source could not read as a whole to Facts.Unread: they may hold what the source
// looked for.
func withSkipped(apply source.Update, left []host.Skipped) source.Update {
	if len(left) == 0 {
		return apply
	}
	return func(f *Facts) {
		apply(f)
		for _, l := range left {
			f.Unread = append(f.Unread, facts.Unread{Kind: facts.UnreadCut, Place: l.Place, Reason: l.Reason})
		}
	}
}

// markUnread reports the sources that did not finish in time.
func markUnread(ctx context.Context, f Facts, late []reader, limit time.Duration) Facts {
	why := fmt.Sprintf("no answer within %s: give more time with --timeout, or fewer files with --env", limit)
	status := fmt.Sprintf("no answer within %s: a file system that hangs? try --timeout, or --env for fewer files", limit)
	if cause := context.Cause(ctx); errors.Is(cause, budget.ErrSpent) {
		why = cause.Error() + ": look at fewer files with --env"
		status = why
	}
	for _, s := range late {
		s.markCut(&f, why)
		f.Probes = append(f.Probes, facts.Status{Name: s.name, Status: "failed", Seconds: limit.Seconds(), Error: status})
	}
	return f
}
