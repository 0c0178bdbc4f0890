// Command update keeps data/ true: it reads rows out of the wheels on the Python package index and compares them with
// the tables, or writes them there.
//
//	go run ./tools/update torch 2.12.0    the row, or what differs from the table's, cell by cell
//	go run ./tools/update -w torch 2.12.0 write it into data/
//	go run ./tools/update torch           the releases that the index has and the table has not
//	go run ./tools/update torch all       every release
//
// It exits 0 when the tables say what the wheels say, or were made to; 1 when they differ, or a wheel could not be
// read; 64 when it was called wrongly or has nothing to work with.
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
	write              bool
	index, data, cache string
	product            artefact.Product
	release            string // empty: those that the table has not; "all"
	pause              time.Duration
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
	if err == nil && o.index == "" {
		o.index, err = artefact.ThisPip().Index()
	}
	if err != nil {
		fmt.Fprintln(errs, "update:", err)
		return exitUsage
	}
	code, err := o.update(ctx, data, out, errs)
	if err != nil {
		fmt.Fprintln(errs, "update:", err)
	}
	return code
}

func parse(args []string, errs io.Writer) (o options, err error) {
	flags := pflag.NewFlagSet("update", pflag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		fmt.Fprintf(errs, "update [flags] PACKAGE [RELEASE | all]\nPACKAGE is %s, or one of their projects on the index.\n%s",
			strings.Join(productNames(), ", "), flags.FlagUsages())
	}
	flags.BoolVarP(&o.write, "write", "w", false, "write the rows into the tables")
	flags.StringVar(&o.index, "index", "", "address of the index's simple API; else pip's own")
	flags.StringVar(&o.data, "data", "data", "directory of the tables")
	flags.StringVar(&o.cache, "cache", defaultCache(), "directory for what was read, by the wheel's sha256")
	flags.DurationVar(&o.pause, "pause", time.Second,
		"before an index that does not answer is asked again; doubled each time")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() < 1 || flags.NArg() > 2 {
		return o, errors.New("which package? update PACKAGE [RELEASE | all], PACKAGE one of " +
			strings.Join(productNames(), ", "))
	}
	product, ok := artefact.ProductNamed(flags.Arg(0))
	if !ok {
		return o, fmt.Errorf("there is no package %q; they are %s", flags.Arg(0), strings.Join(productNames(), ", "))
	}
	o.product, o.release = product, flags.Arg(1)
	return o, nil
}

func productNames() []string {
	var list []string
	for _, p := range artefact.Products {
		list = append(list, p.Name)
	}
	return list
}

func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "cudacompat", "artefact")
}

// update reads what was asked for and says, or writes, what follows for the tables.
func (o *options) update(ctx context.Context, data *artefact.Data, out, errs io.Writer) (int, error) {
	progress := newProgress(errs)
	web := artefact.NewWeb(o.pause)
	web.Seen = progress.seen
	source := artefact.NewSource(o.index, o.cache, web, data)
	list, err := source.Candidates(ctx, o.product)
	if err != nil {
		return exitDiffers, err
	}
	list = o.wanted(list, data)
	if len(list) == 0 && o.release != "" {
		return exitUsage, fmt.Errorf("the index has no wheel of %s %s for Linux", o.product.Name, o.release)
	}
	count := tally{}
	for i, c := range list {
		progress.begin(fmt.Sprintf("%d/%d %s", i+1, len(list), c.Name))
		rows, err := source.Rows(ctx, o.product, c)
		progress.end()
		if ctx.Err() != nil {
			return exitDiffers, errors.New("stopped; what was read is kept, the same command goes on from here")
		}
		o.settle(&count, data, c, rows, err, out)
	}
	count.print(out)
	return count.code(), nil
}

// wanted are the candidates that the command line names. What was withdrawn is nothing new.
func (o *options) wanted(list []artefact.Candidate, data *artefact.Data) []artefact.Candidate {
	return slices.DeleteFunc(list, func(c artefact.Candidate) bool {
		known := data.Knows(o.product, c)
		switch o.release {
		case "all":
			return !known && (c.Yanked || !data.Reaches(o.product, c))
		case "":
			return known || c.Yanked || !data.Reaches(o.product, c)
		}
		return !data.Names(o.product, o.release, c)
	})
}

// settle says what one wheel's rows mean for the tables, and writes them where that was asked for.
func (o *options) settle(count *tally, data *artefact.Data, c artefact.Candidate, rows []artefact.Row, err error,
	out io.Writer) {
	var empty *artefact.Empty
	switch {
	case errors.As(err, &empty):
		count.empty++
		fmt.Fprintf(out, "%v: no row: %v\n", c, empty)
		return
	case err != nil:
		count.unread++
		fmt.Fprintf(out, "%v: not read: %v\n", c, err)
		return
	}
	count.read++
	var changes []artefact.Change
	for _, row := range rows {
		change := data.Compare(row)
		show(out, change)
		if !change.Same() {
			changes = append(changes, change)
		}
	}
	if len(changes) == 0 {
		return
	}
	if o.write {
		if err := data.Write(changes); err != nil {
			fmt.Fprintf(out, "%v: %v\n", c, err)
		} else {
			count.written++
			return
		}
	}
	count.differ++
}

// show prints a change: the row where it is new, else the cells that differ.
func show(out io.Writer, c artefact.Change) {
	name := c.Table + ".csv: " + strings.Join(c.Key, " ")
	switch {
	case c.Same():
		fmt.Fprintf(out, "%s: as in the wheel\n", name)
	case c.Old == nil:
		fmt.Fprintf(out, "%s: new\n%s\n", name, c.CSV())
	default:
		fmt.Fprintf(out, "%s: differs\n", name)
		for _, i := range c.Differs() {
			fmt.Fprintf(out, "  - %s: %s\n  + %s: %s\n", c.Columns[i], c.Old[i], c.Columns[i], c.New[i])
		}
	}
}

// tally counts wheels.
type tally struct{ read, empty, unread, differ, written int }

func (t tally) print(out io.Writer) {
	fmt.Fprintf(out, "%d wheels: %d read, %d make no row, %d could not be read; %d differ from the tables, %d written\n",
		t.read+t.empty+t.unread, t.read, t.empty, t.unread, t.differ, t.written)
}

func (t tally) code() int {
	if t.unread+t.differ > 0 {
		return exitDiffers
	}
	return exitSame
}
