package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"cudacompat/internal/bundle"
	"cudacompat/internal/deadline"
	"cudacompat/internal/logs/lint"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/usage"
	"cudacompat/matrix"

	"github.com/spf13/cobra"
)

// tablesFlag says which tables to judge by.
type tablesFlag struct {
	path string
	errs func() io.Writer // where it is said that they are not used
}

func (f *tablesFlag) add(cmd *cobra.Command) {
	f.errs = cmd.ErrOrStderr
	cmd.Flags().StringVar(&f.path, "matrix", "", "`DIR|BUNDLE`: add rows to the built-in tables, or replace those of the same key, from a directory (CSV files; patterns of log messages in signature/*.txt); or take the tables of a cudacompat release's bundle, unless the built-in ones are newer")
}

// load returns the embedded tables, or those with the given ones over them, linted as a whole. It gives up on a path
// that never ends at ctx's deadline, otherwise after the usual time.
func (f *tablesFlag) load(ctx context.Context) (*matrix.Tables, error) {
	if f.path == "" || inPage {
		return matrix.Embedded(), nil
	}
	if _, limited := ctx.Deadline(); !limited {
		bound, cancel := context.WithTimeoutCause(ctx, deadline.Live, fmt.Errorf("not read in %s", deadline.Live))
		defer cancel()
		ctx = bound
	}
	tables, err := deadline.Run(ctx, f.read)
	if late := new(deadline.Error); errors.As(err, &late) {
		err = &deadline.Error{Err: fmt.Errorf("--matrix %s: %w", f.path, late), Hint: tablesHint}
	}
	return tables, err
}

const tablesHint = "give a directory of tables, or the bundle of a cudacompat release"

func (f *tablesFlag) read() (*matrix.Tables, error) {
	tables, err := f.open()
	switch lint := new(lintError); {
	case errors.As(err, &lint):
		return nil, &usage.Error{Message: "--matrix " + f.path + ": " + err.Error(),
			Hint: "the tables have the columns that `cudacompat matrix -o csv TABLE` writes"}
	case err != nil:
		return nil, &usage.Error{Message: "--matrix " + f.path + ": " + usage.StripPath(err).Error(), Hint: tablesHint}
	}
	return tables, nil
}

// lintError is the linter's error for tables that could be read.
type lintError struct{ error }

// signatures returns the signatures of the loaded tables. It lints a site's own; a test has linted the embedded ones.
// Names in a log are looked up in the same tables.
func (f *tablesFlag) signatures(t *matrix.Tables) ([]signature.Signature, error) {
	record.UseTables(t)
	if f.path == "" {
		return signature.Load(t), nil
	}
	all, err := lint.LoadChecked(t)
	if err != nil {
		return nil, &usage.Error{Message: "--matrix " + f.path + ": " + err.Error(),
			Hint: "data/signature in the sources shows how they are written"}
	}
	return all, nil
}

// open reads rows from a directory, or the tables of a bundle whose hash is right. A site's own rows count whatever
// their date. A bundle older than this program's tables does not.
func (f *tablesFlag) open() (*matrix.Tables, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		files, err := bundle.Dir(f.path)
		if err != nil {
			return nil, err
		}
		tables, err := matrix.LoadOver(files)
		return tables, lintAdvice(err)
	}
	files, manifest, err := bundle.Open(f.path)
	if err != nil {
		return nil, err
	}
	tables, used, err := matrix.LoadBundle(files, manifest.Date)
	if err == nil && !used {
		fmt.Fprintf(f.errs(), "cudacompat: --matrix %s is of %s; the tables of this program, of %s, are newer and are used instead\n", f.path, manifest.Date, tables.Checked())
	}
	return tables, lintAdvice(err)
}

func lintAdvice(err error) error {
	if err == nil {
		return nil
	}
	return &lintError{err}
}
