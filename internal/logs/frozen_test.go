package logs

import (
	"io/fs"

	"cudacompat/internal/tables/frozen"
)

// today is the current tables, whose signatures are linted. Otherwise a new release of any package must not change what
// these tests expect.
var today fs.FS = frozen.Use()
