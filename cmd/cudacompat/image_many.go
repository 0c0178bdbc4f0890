package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/output"
	"cudacompat/internal/redact"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
)

// ranks orders outcomes, worst first.
var ranks = map[verdict.Outcome]int{verdict.Incompatible: 0, verdict.Inconclusive: 1, verdict.Compatible: 2}

// judgeImages judges several images, each read once, for each machine, and prints them in a table, worst first. An
// unreadable image does not affect the others.
func (f *judgeFlags) judgeImages(ctx context.Context, images []*inputs.Image, platform string, limit time.Duration, s streams) error {
	if len(f.formats) > 0 && !slices.Equal(f.formats, []string{"text"}) {
		return &usage.Error{Message: "several images are judged in one table, which has no other format",
			Hint: "leave -o out, or give one image"}
	}
	reading, cancel := deadline.Set(ctx, limit)
	defer cancel()
	job, err := f.prepare(reading, s)
	if err != nil {
		return err
	}
	style, err := output.ChooseStyle(f.colour, s.out)
	if err != nil {
		return err
	}
	var rows []plaintext.ImageRow
	for _, image := range images {
		defer image.Close()
		read := map[string]probe.Facts{} // by the platform of the machines
		for _, target := range job.Targets {
			one := job
			one.Targets = []matrix.Target{target}
			opt, err := inputs.ImageOptions(platform, job.Tables, one.Targets)
			if err != nil {
				return err
			}
			found := image.FactsFor(ctx, read, opt, limit, s.err)
			r, err := one.report(ctx, func() (probe.Facts, error) { return found, nil })
			if err != nil {
				return err
			}
			redact.Value(&r)
			rows = append(rows, plaintext.ImageRow{Image: image.DisplayName(found), Machine: target.Label(), Report: r})
		}
	}
	slices.SortStableFunc(rows, func(a, b plaintext.ImageRow) int { return cmp.Compare(ranks[a.Outcome], ranks[b.Outcome]) })
	if err := plaintext.WriteImages(s.out, rows, job.Targets[0].Driver, style); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	for _, outcome := range []verdict.Outcome{verdict.Incompatible, verdict.Inconclusive, verdict.Compatible} {
		for _, row := range rows {
			if code := exitFor(row.Verdict, f.failOn, job.outputs); row.Outcome == outcome && code != nil {
				return code
			}
		}
	}
	return nil
}
