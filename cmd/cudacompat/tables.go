package main

import (
	"os"

	"cudacompat/matrix"

	"github.com/spf13/cobra"
)

// tablesFlag says which tables to judge by.
type tablesFlag struct{ dir string }

func (f *tablesFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "matrix", "", "tables from `DIR`, CSVs of the embedded ones' names, in their place")
}

// load is the embedded tables, or those with the directory's in their place, linted as a whole.
func (f *tablesFlag) load() (*matrix.Tables, error) {
	if f.dir == "" {
		return matrix.Embedded(), nil
	}
	tables, err := matrix.LoadOver(os.DirFS(f.dir))
	if err != nil {
		return nil, &usageError{message: "--matrix " + f.dir + ": " + err.Error(), hint: "the tables have the columns that `cudacompat matrix -o csv TABLE` writes"}
	}
	return tables, nil
}
