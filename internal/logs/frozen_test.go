package logs

import (
	"io/fs"

	"cudacompat/internal/tables/frozen"
)

// today is the tables of today, whose signatures are linted: a new release of anything changes nothing else that these
// tests expect.
var today fs.FS = frozen.Use()
