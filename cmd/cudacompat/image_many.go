package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cudacompat/internal/deadline"
	"cudacompat/internal/output"
	"cudacompat/internal/redact"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"
	"cudacompat/probe/facts"
)

// imagesNamed returns the images if several are named, or nil if no name is an image. It returns the bytes that it read
// from standard input to the front of in.
func imagesNamed(args []string, stdin io.Reader) (images []*imageSource, in io.Reader, err error) {
	if len(args) < 2 {
		return nil, stdin, nil
	}
	other := ""
	for _, name := range args {
		var image *imageSource
		if name == "-" || !strings.HasPrefix(name, "/dev/fd/") {
			image, stdin = imageNamed(name, stdin)
		}
		if image == nil {
			other = cmp.Or(other, name)
			continue
		}
		images = append(images, image)
	}
	if err == nil && len(images) > 0 && other != "" {
		err = &usage.Error{Message: fmt.Sprintf("%q is an image, and %q is none that is read beside it", images[0].name, other), Hint: "check them one after the other"}
	}
	if err != nil || len(images) == 0 {
		for _, open := range images {
			open.done()
		}
		return nil, stdin, err
	}
	return images, stdin, nil
}

// standardInputTwice reports whether standard input, which can be read only once, is named more than once.
func standardInputTwice(names []string) bool {
	count := 0
	for _, name := range names {
		if name == "-" || slices.Contains([]string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, filepath.Clean(name)) {
			count++
		}
	}
	return count > 1
}

var errTwiceStdin = &usage.Error{Message: "standard input is given twice", Hint: "give - once"}

// ranks orders outcomes, worst first.
var ranks = map[verdict.Outcome]int{verdict.Incompatible: 0, verdict.Inconclusive: 1, verdict.Compatible: 2}

// judgeImages judges several images, each read once, for each machine, and prints them in a table, worst first. An
// unreadable image does not affect the others.
func (f *judgeFlags) judgeImages(ctx context.Context, images []*imageSource, platform string, limit time.Duration, s streams) error {
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
		defer image.done()
		read := map[string]probe.Facts{} // by the platform of the machines
		for _, target := range job.targets {
			one := job
			one.targets = []matrix.Target{target}
			opt, err := imageOptions(platform, job.tables, one.targets)
			if err != nil {
				return err
			}
			found := image.forMachine(ctx, read, opt, limit, s)
			r, err := one.judge(ctx, func() (probe.Facts, error) { return found, nil })
			if err != nil {
				return err
			}
			redact.Value(&r)
			rows = append(rows, plaintext.ImageRow{Image: image.displayName(found), Machine: target.Label(), Report: r})
		}
	}
	slices.SortStableFunc(rows, func(a, b plaintext.ImageRow) int { return cmp.Compare(ranks[a.Outcome], ranks[b.Outcome]) })
	if err := plaintext.WriteImages(s.out, rows, job.targets[0].Driver, style); err != nil {
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

// forMachine returns the facts of one of several images for a machine. The image is read once for each platform, each
// time with the whole of --timeout.
func (s *imageSource) forMachine(ctx context.Context, read map[string]probe.Facts, opt probe.ImageOptions, limit time.Duration,
	to streams) probe.Facts {
	machine := strings.Join(opt.Machines, "")
	for _, found := range read {
		if found.Image == nil || len(found.Image.Others) == 0 {
			return found
		}
	}
	if found, ok := read[machine]; ok {
		return found
	}
	ctx, cancel := deadline.Set(ctx, limit)
	defer cancel()
	found, err := s.read(ctx, limit, opt, to.err)
	if err != nil {
		found = probe.Facts{Unread: []facts.Unread{{Place: s.name, Reason: err.Error(), Kind: facts.UnreadNeeded}}}
	}
	read[machine] = found
	return found
}

// displayName returns an image's name, with the platform if the image has several.
func (s *imageSource) displayName(found probe.Facts) string {
	if found.Image == nil || len(found.Image.Others) == 0 {
		return s.name
	}
	return s.name + " (" + found.Image.Platform + ")"
}
