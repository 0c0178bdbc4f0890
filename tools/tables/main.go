// Command tables keeps data/ true: it reads what data/sources.toml lists, compares it with the tables, and writes it
// there.
//
//	go run ./tools/tables sync                     all sources: what they have and the tables lack
//	go run ./tools/tables sync torch nccl          these alone
//	go run ./tools/tables sync -w                  write it into data/, and what was read into data/lock.json
//	go run ./tools/tables sync --release all torch compare every release, cell by cell
//	go run ./tools/tables spread torchtext         releases whose wheels for one platform do not say the same
//	go run ./tools/tables lint                     cells for which nobody answers
//	go run ./tools/tables vouch PAGE...            a person has read these pages: their rows are as they say
//	go run ./tools/tables verdicts BEFORE          cases that other tables, in a directory, judge otherwise
//
// It exits 0 when the tables say what the sources say, or were made to; 1 when they differ, a source could not be read,
// or a guard stopped a change; 64 when it was called wrongly or has nothing to work with.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/wheel"

	"github.com/spf13/pflag"
)

const (
	exitSame    = 0
	exitDiffers = 1
	exitUsage   = 64
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are what the command line says.
type options struct {
	write, accept               bool
	index, data, cache, offline string
	cases                       string
	all, sources                []artefact.Listed
	command                     string
	pages                       []string          // of vouch, and the directory of verdicts
	copies                      map[string]string // by source
	release                     string            // empty: those that the tables have not; "all"
	pause                       time.Duration
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	if errors.Is(err, pflag.ErrHelp) {
		return exitSame
	}
	var data *artefact.Data
	if err == nil {
		if data, err = artefact.OpenData(o.data); err != nil {
			err = fmt.Errorf("the tables in %s: %w", o.data, err)
		}
	}
	if err == nil && (o.command == "sync" || o.command == "spread") && o.index == "" && o.offline == "" {
		o.index, err = wheel.ThisPip().Index()
	}
	if err != nil {
		fmt.Fprintln(errs, "tables:", err)
		return exitUsage
	}
	var code int
	switch o.command {
	case "vouch":
		code, err = o.vouch(data, out)
	case "lint":
		code, err = o.lint(out)
	case "spread":
		code, err = o.spread(ctx, data, out, errs)
	case "verdicts":
		code, err = o.verdicts(ctx, out)
	default:
		code, err = o.sync(ctx, data, out, errs)
	}
	if err != nil {
		fmt.Fprintln(errs, "tables:", err)
	}
	return code
}

const usage = `tables sync [SOURCE...]   what the sources have and the tables lack; without a SOURCE, of all
tables spread [SOURCE...] releases whose wheels for one platform do not say the same
tables vouch PAGE...      a person has read these pages: their rows are as they say
tables lint               cells for which nobody answers, and the command that mends each
tables verdicts DIR       cases that the tables in DIR judge otherwise
SOURCE is an id in data/sources.toml, PAGE a source of rows that were typed. tools/tables/second_reader.py reads cells of
the tables again, drawn by a seed, and shares no code with this.
`

func parse(args []string, errs io.Writer) (o options, err error) {
	flags := pflag.NewFlagSet("tables", pflag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() { fmt.Fprintf(errs, "%s%s", usage, flags.FlagUsages()) }
	flags.BoolVarP(&o.write, "write", "w", false, "write the rows into the tables")
	flags.BoolVar(&o.accept, "accept", false, "write even what a guard stops: a person has read it")
	flags.StringVar(&o.release, "release", "", "one `RELEASE` of the sources' packages, or all")
	flags.StringVar(&o.index, "index", "", "address of the package index's simple API; else pip's own")
	flags.StringVar(&o.data, "data", "data", "directory of the tables")
	flags.StringVar(&o.cache, "cache", defaultCache(), "directory for what was read")
	flags.StringVar(&o.cases, "cases", "matrix/testdata", "directory of the cases whose verdicts are compared")
	flags.StringVar(&o.offline, "offline", "", "`CACHE`: fetch nothing, what is in this directory is all there is")
	flags.StringToStringVar(&o.copies, "copy", nil, "`SOURCE=PATH`: a copy of a source that is not fetched: a file, or a clone")
	flags.DurationVar(&o.pause, "pause", time.Second,
		"before a server that does not answer is asked again; doubled each time")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() == 0 || !slices.Contains(commands, flags.Arg(0)) {
		return o, errors.New("call it as `tables sync [SOURCE...]`, `tables spread [SOURCE...]`, `tables vouch PAGE...`, `tables lint` or `tables verdicts DIR`")
	}
	o.command = flags.Arg(0)
	if o.offline != "" {
		o.cache = o.offline
	}
	if o.all, err = artefact.ReadSources(o.data); err != nil {
		return o, err
	}
	if o.command != "sync" && o.command != "spread" {
		o.pages = flags.Args()[1:]
		return o, nil
	}
	o.sources, err = chosen(o.all, flags.Args()[1:])
	return o, err
}

var commands = []string{"sync", "spread", "vouch", "lint", "verdicts"}

// chosen returns the sources that the command line names, in the order of the list, because later sources use the rows
// of earlier ones.
func chosen(all []artefact.Listed, names []string) ([]artefact.Listed, error) {
	if len(names) == 0 {
		return all, nil
	}
	var ids []string
	for _, l := range all {
		ids = append(ids, l.ID)
	}
	for _, name := range names {
		if !slices.Contains(ids, name) {
			return nil, fmt.Errorf("there is no source %q; they are %s", name, strings.Join(ids, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(l artefact.Listed) bool { return !slices.Contains(names, l.ID) }), nil
}

func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "cudacompat", "artefact")
}
