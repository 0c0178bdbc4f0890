package resolver

import "cudacompat/internal/tables/frozen"

// A new release of any package must not change what these tests expect.
var _ = frozen.Use()
