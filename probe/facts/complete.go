package facts

import (
	"fmt"
	"slices"

	"cudacompat/internal/budget"
)

// Complete replaces nil lists by empty ones, so that JSON never says null.
func (f *Facts) Complete() {
	f.Schema = Schema
	fill(&f.GPUs)
	fill(&f.Toolkits)
	fill(&f.Environments)
	fill(&f.Libraries)
	fill(&f.Probes)
	fill(&f.Unread)
	f.Unread = firstUnread(f.Unread)
	fill(&f.Driver.Libraries)
	fill(&f.Driver.Compat)
	fill(&f.Driver.Modules)
	fill(&f.Driver.Kernel)
	f.completeMachine()
	f.completePlace()
	if f.Plan != nil {
		fill(&f.Plan.Removes)
		fill(&f.Plan.Installs)
	}
	if f.Variables == nil {
		f.Variables = map[string]string{}
	}
	for i := range f.Driver.Compat {
		fill(&f.Driver.Compat[i].Branches)
		fill(&f.Driver.Compat[i].Devices)
	}
	for i := range f.Caches {
		fill(&f.Caches[i].SASS)
		fill(&f.Caches[i].PTX)
	}
	for i := range f.GPUs {
		fill(&f.GPUs[i].From)
	}
	for i := range f.Environments {
		f.Environments[i].complete()
	}
	for i := range f.Programs {
		f.Programs[i].complete()
	}
}

func (e *Environment) complete() {
	fill(&e.Builds)
	fill(&e.Packages)
	fill(&e.Assemblers)
	for i := range e.Builds {
		b := &e.Builds[i]
		fill(&b.SASS)
		fill(&b.PTX)
		fill(&b.Zstd)
		fill(&b.Groups)
		for g := range b.Groups {
			fill(&b.Groups[g].SASS)
			fill(&b.Groups[g].PTX)
			if b.Groups[g].PTXISA == nil {
				b.Groups[g].PTXISA = map[string]string{}
			}
		}
		if b.PTXISA == nil {
			b.PTXISA = map[string]string{}
		}
		fill(&b.Taken)
		fill(&b.Missing)
		fill(&b.Unresolved)
		if b.Stdcxx != nil {
			fill(&b.Stdcxx.Missing)
		}
		if b.Requires == nil {
			b.Requires = map[string]string{}
		}
	}
}

func fill[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

func (f *Facts) completeMachine() {
	f.Machine.complete()
	for i := range f.GPUs {
		if h := f.GPUs[i].Health; h != nil {
			fill(&h.Slowdown)
		}
	}
}

func (m *Machine) complete() {
	fill(&m.EFA.Names)
	fill(&m.EFA.Unresolved)
	fill(&m.Kernels)
	fill(&m.Installers)
	fill(&m.Firmware)
	fill(&m.Packages)
	fill(&m.Updates.Origins)
	fill(&m.Updates.Blacklist)
	fill(&m.Updates.Repos)
	fill(&m.Xids)
}

func (f *Facts) completePlace() {
	fill(&f.Devices.Nodes)
	fill(&f.Devices.Named)
	fill(&f.Container.Schedulers)
	fill(&f.Runtimes.Found)
	fill(&f.Runtimes.CDI)
	for i := range f.Runtimes.Found {
		fill(&f.Runtimes.Found[i].Missing)
	}
	for i := range f.Runtimes.CDI {
		fill(&f.Runtimes.CDI[i].Versions)
		fill(&f.Runtimes.CDI[i].Missing)
	}
}

// firstUnread returns the first places that were not looked at, and one that represents the others, with their number
// and the kind among them that matters most.
func firstUnread(list []Unread) []Unread {
	first, more := budget.First(list)
	if more <= 1 { // the one that stands for others, or as short as it
		return list
	}
	rest := Unread{Place: "more", Kind: UnreadClosed, Reason: fmt.Sprintf("%d more places were not read; they are not listed",
		more)}
	for _, kind := range []string{UnreadCut, UnreadNeeded} {
		if slices.ContainsFunc(list[len(first):], func(u Unread) bool { return u.Kind == kind }) {
			rest.Kind = kind
		}
	}
	return append(first, rest)
}
