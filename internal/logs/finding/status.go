package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/tables"
)

// weighNVML looks up an NVML status. Most mean that a card cannot answer, not that it fails.
func weighNVML(r *record.Record, t *tables.Tables) string {
	code, _ := strconv.Atoi(r.Slot("code"))
	return weighCode(r, "nvml", code, t)
}

// weighCode looks up a status of one library.
func weighCode(r *record.Record, api string, code int, t *tables.Tables) string {
	for _, s := range tables.Rows[tables.Status](t) {
		if s.API == api && s.Code == code && s.Cause != "" {
			return judgeStatus(r, &s)
		}
	}
	return ""
}

// weighStatus looks up the code or the name. An unknown one, or one that is no error, says nothing.
func weighStatus(r *record.Record, t *tables.Tables) string {
	if ofMake.MatchString(r.Text) || ofProcess.MatchString(r.Text) {
		return ""
	}
	code, _ := strconv.Atoi(cmp.Or(r.Slot("code"), r.Slot("code2")))
	if nvml := r.Slot("nvml"); nvml != "" {
		r.Slots["name"] = "NVML_" + nvml
	}
	if api := strings.ToLower(r.Slot("api")); api != "" && api != "cuda" {
		return weighCode(r, api, code, t)
	}
	for _, s := range t.Statuses(r.Slot("name"), code) {
		if s.Cause == "" {
			continue
		}
		name := judgeStatus(r, &s)
		if slices.Contains(asynchronous, code) && r.Frames == nil && !saysWhere.MatchString(r.Text) {
			r.Slots["blame"] = string(decide.Unknown)
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

// judgeStatus fills the slots of a status. The calls of NCCL and MPI are not the program's.
func judgeStatus(r *record.Record, s *tables.Status) string {
	if starts.MatchString(r.Text) && s.Code != 2 && s.Code != 3 &&
		(s.Blame == "" || decide.Blame(s.Blame) == decide.Program || decide.Blame(s.Blame) == decide.Unknown) {
		r.Kind, r.Slots["name"], r.Slots["code"] = "start", s.Name, strconv.Itoa(s.Code)
		if strings.Contains(r.Text, "(-1)") { // TensorFlow's own, of a library that is only a stub
			r.Slots["name"], r.Slots["code"] = "the driver's library answers no call", "-1"
		}
		r.Slots["meaning"] = s.Meaning
		return "start"
	}
	r.Slots["name"], r.Slots["code"], r.Slots["meaning"] = s.Name, strconv.Itoa(s.Code), s.Meaning
	r.Slots["cause"], r.Slots["blame"] = s.Cause, cmp.Or(s.Blame, string(decide.Unknown))
	if strings.Contains(r.Text, "NCCL") && s.Blame == string(decide.Program) && s.Cause == "invalid-argument" {
		r.Slots["blame"], r.Slots["cause"] = string(decide.Unknown), "nccl-cuda-error"
	}
	return "status"
}
