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
	{name: "system", needs: always, readHost: system.Read},
	{name: "instance", needs: nothingClosed, readHost: system.ReadInstance},
	{name: "proc-driver", needs: always, readHost: driver.ReadLoaded},
	{name: "driver-libraries", needs: atRest, readHost: driver.ReadLibraries},
	{name: "kernel-log", needs: nothingClosed, readHost: kernel.ReadLog},
	{name: "boot", needs: atRest, readHost: kernel.ReadBoot},
	{name: "installers", needs: atRest, readHost: driver.ReadInstallers},
	{name: "firmware", needs: atRest, readHost: driver.ReadFirmware},
	{name: "secure-boot", readHost: kernel.ReadSecureBoot},
	{name: "module-signature", live: true, readHost: driver.ReadSignature}, // adds to what secure-boot says
	{name: "module-build", readHost: driver.ReadModuleBuild},
	{name: "dkms", readHost: driver.ReadDKMS},
	{name: "container-runtimes", readHost: container.ReadRuntimes},
	{name: "driver-packages", readHost: driver.ReadPackages}, // says the releases of those
	{name: "fabric", needs: always, readHost: driver.ReadFabric},
	{name: "grid", readHost: driver.ReadGRID},
	{name: "updates", needs: nothingClosed, readHost: driver.ReadUpdates},
	{name: "processes", live: true, needs: nothingClosed, readHost: process.ReadJob},
	{name: "pci", needs: always, readHost: gpu.ReadPCI},
	{name: "peer-to-peer", live: true, needs: nothingClosed, readHost: gpu.ReadPeers},
	{name: "efa", readHost: efa.Read},
	{name: "toolkits", readHost: toolkit.Read},
	{name: "building", readHost: toolkit.ReadBuilding},
	{name: "libraries", readHost: toolkit.ReadLibraries},
	{name: "variables", live: true, needs: nothingClosed, readHost: process.ReadVariables},
	{name: "devices", live: true, needs: always, readHost: process.ReadDevices},
	{name: "container", live: true, needs: always, readHost: container.Read},
	{name: "python", read: readPython},
	{name: "caches", read: readCaches},
	{name: "gpu-numbers", needs: always, readHost: gpu.ReadNumbers}, // a driver that hangs keeps nothing else back
	{name: "initramfs", readHost: driver.ReadInitramfs},
	{name: "driver-modules", needs: atRest, readHost: driver.ReadModules}, // last: unpacking those of many kernels can take seconds
}

// Run reads every source of facts on the host. It never hangs and never fails as a whole: it names a source that cannot
// be read in Facts.Probes and keeps the results of the others.
func Run(ctx context.Context, h *Host, opt Options) Facts {
	h = h.Fresh()
	reading, cancel := context.WithTimeout(ctx, opt.filesLimit())
	defer cancel()
	h.Budget = budget.Usual(reading)
	wait := nvml.Start(ctx, h, opt.Timeout)
	facts := runSources(ctx, h, opt)
	opt.announce("the driver's answer")
	answer := wait()
	answer.Place(&Host{Root: h.Root, Env: h.Env}) // a source that hangs may still use the other one
	answer.Apply(&facts)
	facts.Probes = append(facts.Probes, answer.Status())
	if !nvml.Serves() && len(host.FUSEMounts()) > 0 {
		facts.Probes = append(facts.Probes, inOwnProcess)
	}
	facts.Complete()
	facts.Anonymous()
	return facts
}

// inOwnProcess says what follows if a program did not call ServeNVML on a machine with FUSE file systems. The command
// reads those in a child process.
var inOwnProcess = facts.Status{Name: "fuse", Status: "ok",
	Error: "FUSE file systems were read in this program's own process, which cannot end while it waits for one of them"}

// runSources runs all sources.
func runSources(ctx context.Context, h *Host, opt Options) Facts {
	return runReaders(ctx, h, opt, sources)
}

// runReaders runs readers in a goroutine that it abandons if a file system never answers. It applies the results at the
// end, in one go, because waking another goroutine for each source would take longer than many sources do.
func runReaders(ctx context.Context, h *Host, opt Options, sources []reader) Facts {
	limit := opt.filesLimit()
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
			results <- result{withSkipped(apply, s, h.Rest, h.DrainSkipped()), status}
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
