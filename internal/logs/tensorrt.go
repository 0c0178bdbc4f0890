package logs

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
)

// weighTensorRT judges an error by the class that TensorRT gives it: 1 is of CUDA or of a file that another release
// wrote, 3 of a call that the program may not make, 4 and 9 of the network, where one of its layers is named.
//
//	[E] Error[3]: [executionContext.cpp::enqueueInternal::330] Error Code 3: API Usage Error (Parameter check …)
func weighTensorRT(r *record, _ *tables.Tables) string {
	switch code, text := r.slot("code"), r.slot("sentence"); {
	case r.slot("what") == "Serialization":
		return "tensorrt-engine"
	case code == "3", (code == "4" || code == "9") && ofNetwork.MatchString(text):
		return "tensorrt-input"
	}
	return ""
}

// ofNetwork are the words of an error in the network, and not in the build of an engine for it.
var ofNetwork = lazyregexp.New(`^(?:\S+: )?(?:I[A-Z]\w+Layer|Network (?:must|has)|.*\b(?:reshape|broadcast|` +
	`optimization profile|volume|rank|dimensions? .*(?:match|must|not)))`)
