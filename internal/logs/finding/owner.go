package finding

import (
	"cmp"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/logs/traceback"
	"cudacompat/internal/redact"
)

// ofOneRun matches the parts of a message that differ from run to run: paths, addresses, process numbers.
var ofOneRun = lazyregexp.New(`(?:[A-Za-z]:)?(?:[/\\][\w.+@-]+){2,}[/\\]?|0x[0-9a-fA-F]+|\b[0-9a-f]{12,}\b|\bpid[= ]\d+|\b\d{5,}\b|[^\w./:,=+-]`)

// maxSearch is the maximum length of the words to search for.
const maxSearch = 90

// chooseSearchWords returns the words to search a project's issues for: the class and message of an exception without
// what belongs to this run, or the call that raised it if the message says nothing.
func chooseSearchWords(r *record.Record, at traceback.Frame) string {
	words := searchable(redact.Within(r.Text, r.Slot("message")))
	return strings.TrimSpace(r.Slot("class") + " " + cmp.Or(words, at.Function))
}

// The types of a C++ function's arguments behind its name, and names that a program generated:
//
//	BatchDecodeWithPagedKVCachePyTorchWrapper::Plan(at::Tensor, float)::<lambda()>::<lambda()> failed to dispatch head_dim 96
//	batch_prefill_with_kv_cache_dtype_q_bf16_dtype_kv_bf16_dtype_o_bf16_idx_i32_head_dim_qk_128::plan() expected at most 15 …
var (
	argumentTypes = lazyregexp.New(`(::~?\w+)\([\w:,&*<> ]*\)(?:::<lambda\(\)>)*`)
	generated     = lazyregexp.New(`\b\w{60,}::`)
)

// stripArgumentTypes returns a message in which C++ functions are reduced to their names.
func stripArgumentTypes(text string) string {
	return generated.ReplaceAllString(argumentTypes.ReplaceAllString(text, "$1"), "")
}
