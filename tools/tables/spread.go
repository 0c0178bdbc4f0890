package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/wheel"
)

// spread reads every wheel of the sources' releases and names the releases whose wheels differ: a row has what one
// wheel says.
func (o *options) spread(ctx context.Context, data *artefact.Data, out, errs io.Writer) (int, error) {
	code, progress := exitSame, newProgress(errs)
	web := wheel.NewWeb(o.pause)
	web.Seen, web.Offline = progress.seen, o.offline != ""
	source := artefact.NewSource(o.index, o.cache, web, data)
	for _, l := range o.sources {
		product, wheels := l.EveryWheel()
		if !wheels {
			continue
		}
		list, several, err := source.Spreads(ctx, product, progress.begin)
		progress.end()
		for _, s := range list {
			code = exitDiffers
			fmt.Fprintf(out, "%s %s %s: %s differs\n", l.ID, s.Release, s.Platform, s.Column)
			for _, value := range slices.Sorted(maps.Keys(s.Values)) {
				pythons := s.Values[value]
				slices.Sort(pythons)
				fmt.Fprintf(out, "  %q: %s\n", value, strings.Join(slices.Compact(pythons), " "))
			}
		}
		if err != nil {
			return exitDiffers, err
		}
		fmt.Fprintf(out, "%s: %d releases with several wheels for a platform, %d cells differ\n", l.ID, several, len(list))
	}
	return code, nil
}
