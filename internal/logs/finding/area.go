package finding

import (
	"slices"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/record"
	"cudacompat/internal/tables"
)

// ofAnyProgram lists the areas in which programs without a GPU fail in the same way.
var ofAnyProgram = []string{"access", "kernel", "installation", "network-down", "repository", "input"}

// certain lists the areas whose words are unambiguous, so that a sentence with them is believed. In the other areas
// such a sentence was wrong as often as right on logs that it was not written from (testdata/firstsight).
var certain = []string{"too-hot", "off-the-bus", "disk-full", "shared-memory", "device-gone"}

// certainOf lists areas in which a sentence is believed if the program says it aloud and names the part that failed.
// For driver, toolkit, service and engine none was wrong; for graphics only sentences about its start count.
var certainOf = map[string]*lazyregexp.Regexp{
	"driver-or-toolkit": record.AboutGPU,
	"service":           lazyregexp.New(`(?i)nvidia|fabric|dcgm|docker|containerd|slurm|\bmps\b`),
	"engine":            lazyregexp.New(`.`),
	"mpi": lazyregexp.New(`(?i)(?:ucx|ucp|libfabric|ofi|ibv|pmix|orte|prte)\w*\b.*(?:failed to|unable to|could not|` +
		`cannot) (?:create|open|load|init|find|start|connect)`),
	"kernel": lazyregexp.New(`(?i)nvidia|secure boot|gcc|nouveau|\bgpu`),
	"graphics": lazyregexp.New(`(?i)display|instance|platform|initiali|context|librar|\bload|driver|\bicd\b|x server|` +
		`surfaceless`),
	"no-device": lazyregexp.New(`(?i)\b(?:gpus?|devices?|adapters?)\b.{0,40}\b(?:not (?:found|available|detected|` +
		`visible)|unavailable)|(?:\bno|(?:cannot|can.t|could not|unable to) (?:find|detect|get)|` +
		`found no)\b (?:\w+[ -]){0,3}` +
		`(?:gpus?|cuda|nvidia|adapters?|devices?)\b`),
}

// notThere matches a server's answer that it does not have what was requested.
var notThere = lazyregexp.New(`(?i)\bHTTP(?: ?error)?:? ?(?:404|410)\b|\b404:? not found\b`)

// weighComplaint returns the subject of a complaint, if it is certain.
func weighComplaint(r *record.Record, _ *tables.Tables) string {
	about := record.FindArea(r.Slot("sentence"))
	if about == "network-down" && notThere.MatchString(r.Slot("sentence")) {
		about = "no-such-address" // the server was reached
	}
	if words := certainOf[about]; slices.Contains(certain, about) || about == "no-such-address" && r.StatesFailure(about) ||
		words != nil && r.StatesFailure(about) && words.MatchString(r.Slot("sentence")) || isLastComplaintAbout(r, about) {
		return about
	}
	return ""
}
