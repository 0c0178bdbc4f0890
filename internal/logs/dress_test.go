package logs

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// dress maps a name to what a container runtime, a terminal or a chat does to the lines of a log.
var dress = map[string]func(line string) string{
	"windows line ends": func(line string) string { return line + "\r" },
	"colours":           func(line string) string { return "\x1b[31m" + line + "\x1b[0m" },
	"rank":              func(line string) string { return "[rank3]: " + line },
	"docker compose":    func(line string) string { return "trainer-1  | " + line },
	"kubernetes":        func(line string) string { return "2025-06-02T12:32:53.230422123Z stderr F " + line },
	"pod":               func(line string) string { return "[pod/trainer-0/main] " + line },
	"time":              func(line string) string { return "[2025-05-10 23:09:41] " + line },
	"journal":           func(line string) string { return "Nov 02 09:14:07 node7 train.sh[4711]: " + line },
	"slurm":             func(line string) string { return "12: " + line },
	"buildkit":          func(line string) string { return "#13 278.8 " + line },
	"buildkit's end":    func(line string) string { return "278.8 " + line },
	"msbuild":           func(line string) string { return "2>" + line },
	"another language":  func(line string) string { return "févr. 24 00:01:32 node7 train.sh[4711]: " + line },
	"ray":               func(line string) string { return "(Worker pid=4711, ip=10.0.0.7) " + line },
	"quoted mail":       func(line string) string { return "> " + line },
	"indented":          func(line string) string { return "      " + line },
}

// around is what ordinary programs print before and after an error.
var around = [2]string{
	`$ python train.py --config base.yaml
/opt/conda/lib/python3.10/site-packages/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: ''If you don't plan on using image functionality from ` + "`torchvision.io`" + `, you can ignore this warning.
  warn(
WARNING:__main__:Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded
Loading checkpoint shards: 100%|██████████| 7/7 [00:08<00:00,  1.27s/it]
FutureWarning: ` + "`resume_download`" + ` is deprecated and will be removed in version 1.0.0.
epoch 0 step 10 loss 2.3026
`,
	`
wandb: You can sync this run to the cloud by running:
wandb: Find logs at: ./wandb/offline-run-20250510_230941/logs
Aborted (core dumped)
`,
}

// wholeGrid reports whether to try everything (make grid), such as every case in every dress, and not a sample (make
// test).
var wholeGrid = os.Getenv("CUDACOMPAT_GRID") == "whole"

// TestDressedCases checks that what happens to a log on its way changes neither cause nor blame.
func TestDressedCases(t *testing.T) {
	t.Parallel()
	dresses := forms()
	names := slices.Sorted(maps.Keys(dresses))
	for i, c := range readCases(t, "testdata/cases.jsonl") {
		if !wholeGrid && i%8 != 0 {
			continue
		}
		asItIs := explain(t, c.Log)
		for j, name := range names {
			if !wholeGrid && (i/8)%len(names) != j {
				continue // each case in one dress, each dress on many cases
			}
			plain, form := asItIs, dresses[name]
			got := explain(t, form(c.Log))
			if told := name == "rank" && got.Cause == "more-ranks-than-gpus"; told {
				continue // the rank is a fact of its own
			}
			if ended := name == "in a longer log" && plain.Blame == None; ended {
				plain = newUndecided() // a program that was aborted is not well
			}
			if name == "journal" && plain.Cause == "ended-well" {
				continue // a journal holds many programs: that one of them ended well is not the log's end
			}
			if name == "in a longer log" && plain.Cause == NothingFound {
				continue // how a program ends decides what its lines leave open
			}
			if got.Cause != plain.Cause || got.Blame != plain.Blame {
				t.Errorf("%s, %s: %s (%s), plain %s (%s)", c.ID, name, got.Cause, got.Blame, plain.Cause, plain.Blame)
			}
		}
	}
}

// forms returns functions that rewrite a whole log as some tool would print it: with timestamps, prefixes or colours.
func forms() map[string]func(log string) string {
	all := map[string]func(log string) string{
		"in a longer log": func(log string) string { return around[0] + log + around[1] },
		"in a fence":      func(log string) string { return "```\n" + log + "\n```\n" },
		"docker's file":   boxes,
	}
	for name, put := range dress {
		all[name] = func(log string) string {
			lines := strings.Split(log, "\n")
			for i := range lines {
				lines[i] = put(lines[i])
			}
			return strings.Join(lines, "\n")
		}
	}
	return all
}

// boxes returns a log in the form of Docker's json-file driver.
func boxes(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log + "\n") {
		box, err := json.Marshal(map[string]string{"log": line, "stream": "stderr", "time": "2025-06-02T12:32:53.230422123Z"})
		if err != nil {
			panic(err)
		}
		b.Write(append(box, '\n'))
	}
	return b.String()
}
