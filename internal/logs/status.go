package logs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
)

// weighNVML looks up an NVML status. Most mean that a card cannot answer, not that it fails.
func weighNVML(r *record, t *tables.Tables) string {
	code, _ := strconv.Atoi(r.slot("code"))
	return r.weighStatusOf("nvml", code, t)
}

// weighStatusOf looks up a status of one library.
func (r *record) weighStatusOf(api string, code int, t *tables.Tables) string {
	for _, s := range tables.Rows[tables.Status](t) {
		if s.API == api && s.Code == code && s.Cause != "" {
			return r.status(&s)
		}
	}
	return ""
}

// weighStatus looks up the code or the name. An unknown one, or one that is no error, says nothing.
func weighStatus(r *record, t *tables.Tables) string {
	if ofMake.MatchString(r.text) || ofProcess.MatchString(r.text) {
		return ""
	}
	code, _ := strconv.Atoi(cmp.Or(r.slot("code"), r.slot("code2")))
	if nvml := r.slot("nvml"); nvml != "" {
		r.slots["name"] = "NVML_" + nvml
	}
	if api := strings.ToLower(r.slot("api")); api != "" && api != "cuda" {
		return r.weighStatusOf(api, code, t)
	}
	for _, s := range t.Statuses(r.slot("name"), code) {
		if s.Cause == "" {
			continue
		}
		name := r.status(&s)
		if slices.Contains(asynchronous, code) && r.frames == nil && !saysWhere.MatchString(r.text) {
			r.slots["blame"] = string(Unknown)
		}
		return name
	}
	return ""
}

// ofMake matches make's line for a target whose command failed, with the command's exit status: "Error 2" is not a CUDA
// error.
var ofMake = lazyregexp.New(`\] Error \d+\s*(?:\(ignored\))?$`)

// ofProcess matches a program's line with the exit code of another: "nvcc failed with exit code 2" is not a CUDA error.
var ofProcess = lazyregexp.New(`(?i)\bexit(?:ed|s|ing)?(?: with)?(?: an?| the)?(?: non-?zero)?(?: exit| return)?[ _]?(?:code|status)\W{0,5}-?\d+`)

// asynchronous lists the codes of a failed kernel. If a line names neither the exception nor the call or source that
// met it, the driver or the GPU may also be the reason.
var (
	asynchronous = []int{700, 719}
	saysWhere    = lazyregexp.New(`Error: |Exception: |\bcu(?:da)?[A-Z]\w+|PhysX|\.(?:cuh?|cpp|cc|h)\b`)
)

// starts matches the calls with which every program begins. A failure there is not caused by the program's own work.
var starts = lazyregexp.New(`(?i)\bcu_?Init\b|DeviceGetCount|_?getDeviceCount|getCudaEnabledDeviceCount|nvmlInit|` +
	`CUDA initialization:|failed to initiali[sz]e CUDA|number of (?:gpus|devices) available|query device count`)

// status fills the slots of a status. The calls of NCCL and MPI are not the program's.
func (r *record) status(s *tables.Status) string {
	if starts.MatchString(r.text) && s.Code != 2 && s.Code != 3 &&
		(s.Blame == "" || Blame(s.Blame) == Program || Blame(s.Blame) == Unknown) {
		r.kind, r.slots["name"], r.slots["code"] = "start", s.Name, strconv.Itoa(s.Code)
		if strings.Contains(r.text, "(-1)") { // TensorFlow's own, of a library that is only a stub
			r.slots["name"], r.slots["code"] = "the driver's library answers no call", "-1"
		}
		r.slots["meaning"] = s.Meaning
		return "start"
	}
	r.slots["name"], r.slots["code"], r.slots["meaning"] = s.Name, strconv.Itoa(s.Code), s.Meaning
	r.slots["cause"], r.slots["blame"] = s.Cause, cmp.Or(s.Blame, string(Unknown))
	if strings.Contains(r.text, "NCCL") && s.Blame == string(Program) && s.Cause == "invalid-argument" {
		r.slots["blame"], r.slots["cause"] = string(Unknown), "nccl-cuda-error"
	}
	return "status"
}
