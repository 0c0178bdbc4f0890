package pydist

import (
	"crypto/sha256"
	"encoding/base64"

	"cudacompat/probe/host"
)

// sha256 is a file's hash as RECORD writes it, empty when it cannot be read.
func HashOf(h *host.Host, name string) string {
	data, err := h.ReadFile(name)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
