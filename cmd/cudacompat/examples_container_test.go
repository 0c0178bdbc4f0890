package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const containerExamples = "../../examples/container/"

// containerCommand matches ["cudacompat", "doctor", …] in the JSON and YAML forms of all examples.
var containerCommand = regexp.MustCompile(`\[(?:"CMD", )?"cudacompat"((?:, "[^"]*")*)\]`)

// TestContainerExamples runs every command of the examples, without its waiting, in an empty tree. An unknown flag
// would exit 64.
func TestContainerExamples(t *testing.T) {
	for _, name := range []string{"Dockerfile", "compose.yaml", "kubernetes.yaml", "ecs-task.json"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(containerExamples + name)
			if err != nil {
				t.Fatal(err)
			}
			commands := containerCommand.FindAllStringSubmatch(string(text), -1)
			if len(commands) == 0 {
				t.Fatal("no command of ours in it")
			}
			for _, c := range commands {
				var args []string
				if err := json.Unmarshal([]byte("["+strings.TrimPrefix(c[1], ", ")+"]"), &args); err != nil {
					t.Fatal(err)
				}
				var out, errs bytes.Buffer
				args = append(args, "--root", t.TempDir(), "--wait", "0s")
				if code := run(args, streams{in: strings.NewReader(""), out: &out, err: &errs}); code == exitUsage ||
					code == exitInternal || errs.Len() > 0 {
					t.Errorf("%q: exit %d\n%s", args, code, errs.String())
				}
			}
		})
	}
}

// engineTimeout matches the time that an engine gives a check, in seconds.
var engineTimeout = regexp.MustCompile(`(?m)(?:--timeout=|^\s*timeout: |timeoutSeconds: |"timeout": )(\d+)`)

// coldSeconds is how long eight GPUs without persistence mode take to answer.
const coldSeconds = 45

// ownTimeout matches the check's own timeout, in seconds.
var ownTimeout = regexp.MustCompile(`"--timeout", "(\d+)s"`)

// TestHealthTimeoutIsShorter checks that every example leaves time for the line that says what hangs.
func TestHealthTimeoutIsShorter(t *testing.T) {
	for _, name := range []string{"Dockerfile", "compose.yaml", "kubernetes.yaml", "ecs-task.json"} {
		text, err := os.ReadFile(containerExamples + name)
		if err != nil {
			t.Fatal(err)
		}
		m := engineTimeout.FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s: no timeout in it", name)
		}
		own := ownTimeout.FindSubmatch(text)
		if own == nil || !bytes.Contains(text, []byte(`"--healthcheck", "--require", "driver,gpu"`)) {
			t.Fatalf("%s: the check has no --timeout, or requires nothing", name)
		}
		engine, _ := strconv.Atoi(string(m[1]))
		ours, _ := strconv.Atoi(string(own[1]))
		if ours <= coldSeconds || engine < ours+2 {
			t.Errorf("%s: the engine stops the check after %d s, and it ends by itself after %d s; a cold host of 8 GPUs takes 45 s", name, engine, ours)
		}
	}
}

// TestTaskDefinition compares ECS's health check with the limits in its API reference (HealthCheck, as of 2026-11).
func TestTaskDefinition(t *testing.T) {
	text, err := os.ReadFile(containerExamples + "ecs-task.json")
	if err != nil {
		t.Fatal(err)
	}
	var task struct {
		Family               string `json:"family"`
		ContainerDefinitions []struct {
			HealthCheck struct{ Interval, Timeout, Retries, StartPeriod int } `json:"healthCheck"`
		} `json:"containerDefinitions"`
	}
	if err := json.Unmarshal(text, &task); err != nil {
		t.Fatal(err)
	}
	if task.Family == "" || len(task.ContainerDefinitions) != 1 {
		t.Fatalf("no task with one container: %+v", task)
	}
	c := task.ContainerDefinitions[0].HealthCheck
	for _, limit := range []struct {
		name             string
		have, least, top int
	}{{"interval", c.Interval, 5, 300}, {"timeout", c.Timeout, 2, 60}, {"retries", c.Retries, 1, 10},
		{"startPeriod", c.StartPeriod, 0, 300}} {
		if limit.have < limit.least || limit.have > limit.top {
			t.Errorf("%s is %d, not from %d to %d", limit.name, limit.have, limit.least, limit.top)
		}
	}
}
