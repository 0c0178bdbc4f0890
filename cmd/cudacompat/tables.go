package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"cudacompat/internal/bundle"
	"cudacompat/matrix"
	"cudacompat/triage"

	"github.com/spf13/cobra"
)

// tablesFlag says which tables to judge by.
type tablesFlag struct{ path string }

func (f *tablesFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, "matrix", "", "`DIR|BUNDLE`: add rows to the built-in tables, or replace those of "+
		"the same key, from a directory (CSV files; patterns of log messages in signature/*.txt) or from the table bundle of a "+
		"cudacompat release")
}

// load is the embedded tables, or those with the given ones over them, linted as a whole. A place that never ends is
// left behind with the time: ctx's, else the usual.
func (f *tablesFlag) load(ctx context.Context) (*matrix.Tables, error) {
	if f.path == "" {
		return matrix.Embedded(), nil
	}
	if _, limited := ctx.Deadline(); !limited {
		bound, cancel := context.WithTimeoutCause(ctx, liveTimeout, fmt.Errorf("not read in %s", liveTimeout))
		defer cancel()
		ctx = bound
	}
	tables, err := inTime(ctx, f.read)
	if late := new(lateError); errors.As(err, &late) {
		err = &usageError{message: "--matrix " + f.path + ": " + late.Error(), hint: tablesHint}
	}
	return tables, err
}

const tablesHint = "give a directory of tables, or the bundle of a cudacompat release"

func (f *tablesFlag) read() (*matrix.Tables, error) {
	over, err := f.open()
	if err != nil {
		return nil, &usageError{message: "--matrix " + f.path + ": " + cause(err).Error(),
			hint: tablesHint}
	}
	tables, err := matrix.LoadOver(over)
	if err != nil {
		return nil, &usageError{message: "--matrix " + f.path + ": " + err.Error(),
			hint: "the tables have the columns that `cudacompat matrix -o csv TABLE` writes"}
	}
	return tables, nil
}

// signatures are those of the tables that load gave; a site's own are linted here, the embedded ones were by a test.
func (f *tablesFlag) signatures(t *matrix.Tables) ([]triage.Signature, error) {
	if f.path == "" {
		return triage.Signatures(t), nil
	}
	all, err := triage.Linted(t)
	if err != nil {
		return nil, &usageError{message: "--matrix " + f.path + ": " + err.Error(),
			hint: "data/signature in the sources shows how they are written"}
	}
	return all, nil
}

// open is a directory as it stands, or a bundle once it was found whole.
func (f *tablesFlag) open() (fs.FS, error) {
	if info, err := os.Stat(f.path); err != nil || info.IsDir() {
		return os.DirFS(f.path), err
	}
	tables, _, err := bundle.Open(f.path)
	return tables, err
}
