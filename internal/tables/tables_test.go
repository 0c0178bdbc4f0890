package tables

import (
	"testing"
)

func TestEmbeddedTablesAreSound(t *testing.T) {
	if _, err := Load(today); err != nil {
		t.Fatal(err)
	}
}
