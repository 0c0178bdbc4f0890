package tables

import (
	"testing"

	"cudacompat/data"
)

func TestEmbeddedTablesAreSound(t *testing.T) {
	if _, err := Load(data.FS); err != nil {
		t.Fatal(err)
	}
}
