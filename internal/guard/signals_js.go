package guard

import "os"

// endSignals is empty in a page, which starts no program.
var endSignals []os.Signal
