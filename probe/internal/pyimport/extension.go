package pyimport

import (
	"cudacompat/probe/internal/distname"
)

// OptionalModule are the packages that are imported without theirs, and say so.
var OptionalModule = distname.Names{"xformers", "torchao"}
