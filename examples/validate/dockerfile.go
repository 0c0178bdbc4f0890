package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/opencontainers/go-digest"
)

// anyImage stands for a registry: every image is there, and says nothing of itself.
type anyImage struct{}

func (anyImage) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest,
	[]byte, error) {
	config := []byte(`{"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers"}, "config": {}}`)
	return ref, digest.FromBytes(config), config, nil
}

// dockerfile does what `docker build --check` does: it plans every stage without running it, and lints.
func dockerfile(name string, data []byte) error {
	results, err := dockerfile2llb.DockerfileLint(context.Background(), data, dockerfile2llb.ConvertOpt{
		MetaResolver: anyImage{},
		SourceMap:    &llb.SourceMap{Definition: &llb.Definition{}, Filename: name, Language: "Dockerfile", Data: data},
	})
	if err != nil {
		return err
	}
	var found []error
	if results.Error != nil {
		found = append(found, errors.New(results.Error.Message))
	}
	for _, w := range results.Warnings {
		found = append(found, fmt.Errorf("%s: %s", w.RuleName, w.Detail))
	}
	return errors.Join(found...)
}
