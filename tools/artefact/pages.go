package artefact

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"cudacompat/tools/artefact/wheel"
)

// projectFiles lists the wheels of one project, in the form that the index has.
func (s *Source) projectFiles(ctx context.Context, project string) ([]wheel.File, error) {
	address := strings.TrimRight(s.Index.Address, "/") + "/" + project + "/"
	p, err := s.ReadPage(ctx, "project "+project, address, wheel.SimpleTypes)
	if err != nil {
		return nil, fmt.Errorf("the index has no page for %w", err)
	}
	at, err := url.Parse(p.URL)
	if err != nil {
		return nil, err
	}
	return wheel.ParseFiles(project, p.Type, p.Body, at)
}
