package redact

import (
	"fmt"

	"cudacompat/internal/lazyregexp"
)

// devices gives the UUIDs of GPUs names that say nothing of the machine: each the same one within a report.
type devices struct{ names map[string]string }

// deviceUUID matches the UUID of a GPU or a MIG device, or the beginning of one.
var deviceUUID = lazyregexp.New(`(?i)\b(?:GPU|MIG)-[0-9a-f]{6,}(?:-[0-9a-f]{2,12})*\b`)

func (d *devices) rename(text string) string { return deviceUUID.ReplaceAllStringFunc(text, d.name) }

// name returns what stands for a UUID, "GPU-unknown-1".
func (d *devices) name(uuid string) string {
	if d.names == nil {
		d.names = map[string]string{}
	}
	if d.names[uuid] == "" {
		d.names[uuid] = fmt.Sprintf("%s-unknown-%d", uuid[:3], len(d.names)+1)
	}
	return d.names[uuid]
}
