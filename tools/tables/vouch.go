package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"cudacompat/tools/artefact"
)

// vouch writes into the lock that a person has read pages today, and that the rows which name them are as they say.
func (o *options) vouch(data *artefact.Data, out io.Writer) (int, error) {
	if len(o.pages) == 0 {
		return exitUsage, fmt.Errorf("name the pages that you have read; `tables lint` says which were not read since their rows changed")
	}
	lock, err := artefact.ReadLock(o.data)
	if err != nil {
		return exitUsage, err
	}
	lock.Match(o.all)
	for _, page := range o.pages {
		if !slices.Contains(data.Pages(lock), page) {
			return exitUsage, fmt.Errorf("no row that a person typed names %s", page)
		}
	}
	data.Seal(lock, []string{}, o.pages)
	if err := lock.Write(o.data); err != nil {
		return exitDiffers, err
	}
	for _, page := range o.pages {
		fmt.Fprintln(out, "read today:", page)
	}
	return exitSame, artefact.WriteDates(o.data)
}

// lint prints the cells for which nobody answers.
func (o *options) lint(out io.Writer) (int, error) {
	complaints, err := artefact.Lint(o.data, time.Now().Format(time.DateOnly))
	if err != nil {
		return exitUsage, err
	}
	for _, line := range append(complaints, artefact.Awaited(o.all, o.data)...) {
		fmt.Fprintln(out, line)
	}
	if len(complaints) > 0 {
		return exitDiffers, nil
	}
	return exitSame, nil
}
