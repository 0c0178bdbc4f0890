package tables

import (
	"io/fs"

	"cudacompat/internal/tables/frozen"
)

// today is the tables of today, which the linter reads; the other tests have the frozen ones.
var today fs.FS = frozen.Use()
