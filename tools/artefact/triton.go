package artefact

import (
	"context"
	"errors"

	"cudacompat/tools/artefact/reading"
)

// tritonRows returns a release with the assemblers that it brings: from 3.6 on there is one more, for Blackwell and
// newer.
func tritonRows(_ *Source, _ context.Context, r *reading.Reading) ([]Row, error) {
	if r.Ptxas["ptxas"] == "" {
		return nil, errors.New("there is no ptxas in it that says its version")
	}
	return []Row{newRow(r, "triton", nil, map[string]string{"release": r.Tag.Version, "ptxas": r.Ptxas["ptxas"],
		"ptxas_blackwell": r.Ptxas["ptxas-blackwell"]})}, nil
}
