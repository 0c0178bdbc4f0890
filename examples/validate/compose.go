package main

import (
	"context"
	"path/filepath"

	"github.com/compose-spec/compose-go/v2/cli"
)

// compose loads a project as `docker compose config` does.
func compose(name string, _ []byte) error {
	options, err := cli.NewProjectOptions([]string{name}, cli.WithWorkingDirectory(filepath.Dir(name)),
		cli.WithName("example"))
	if err != nil {
		return err
	}
	_, err = options.LoadProject(context.Background())
	return err
}
