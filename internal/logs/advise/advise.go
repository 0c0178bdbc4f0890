// Package advise chooses those steps of a cause, a row or a form for which the log has evidence.
//
// A step may name what it needs: a program, a platform, words of the deciding line or of the log, a slot that the line
// filled, a fact. A step without its evidence is dropped, and the others move up. The package never changes the blame.
package advise

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables/sheet"
)

// MaxSteps limits the steps of an answer. The reader has a machine that does not work.
const MaxSteps = 4

// Mark separates the text of a step from its condition: "lower --max-model-len\tfor program vllm".
const Mark = sheet.StepNeeds

// Plain returns a step without its conditions.
func Plain(step string) string {
	plain, _, _ := strings.Cut(step, Mark)
	return plain
}

// Evidence is what a log shows that a step may ask for.
type Evidence struct {
	Line     string                     // the deciding line
	Text     func(*regexp.Regexp) bool  // reports whether a line of the log matches
	Mentions func(words ...string) bool // reports whether a line holds one of some words, in any case
	Slot     func(name string) string   // what the deciding line says of a thing
	Packages func() map[string]string   // what a pasted list has installed, by name: its version
	Facts    func() map[string]string   // gpu, driver, toolkit, torch: what the text says of them
	Windows  bool
	Linux    bool
}

// programs lists the marks of programs, and platforms those of platforms. The mark of any other program is its name.
var (
	programs = map[string][]string{
		"torch":       {"torch", "cuda error:", "c10", "2at6tensor", "nccl", "mmcv", "detectron", "transformers", "diffusers", "vllm"},
		"tensorflow":  {"tensorflow", "keras", "tf."},
		"jax":         {"jax", "xla"},
		"onnxruntime": {"onnxruntime", "executionprovider"},
	}
	platforms = map[string][]string{
		"wsl":        {"microsoft-standard-wsl", "/usr/lib/wsl/", "-wsl2", "wsl"},
		"jetson":     {"-tegra", "jetson", "jetpack", "l4t", "nv_tegra", "(nvgpu)"},
		"container":  {"docker", "container", "podman", "kubelet", "kubernetes", "/workspace", "apptainer", "singularity", "enroot", "pod/", "/app/", "root@", "oci runtime"},
		"slurm":      {"slurm", "srun", "sbatch"},
		"kubernetes": {"kube", "pod/", "nvidia.com/gpu"},
		"conda":      {"conda", "mamba"},
		"ray":        {"ray::", "raytaskerror", "rayactorerror", "rayworker", "ray/_private/"},
	}
)

// Choose returns the steps that the evidence supports, without their conditions.
func Choose(steps []string, e Evidence) []string {
	chosen := []string{}
	for _, step := range steps {
		parts := strings.Split(step, Mark)
		if slices.ContainsFunc(parts[1:], func(c string) bool { return !holds(c, e) }) || e.has(parts[0]) {
			continue
		}
		chosen = append(chosen, parts[0])
	}
	if len(chosen) > 0 {
		chosen[0] = strings.TrimPrefix(chosen[0], "or ") // what it was the alternative to is gone
	}
	return chosen
}

// Check says what is wrong with a step's conditions.
func Check(step string) error {
	for _, c := range strings.Split(step, Mark)[1:] {
		kind, words, _ := strings.Cut(strings.TrimPrefix(c, "not "), " ")
		switch kind {
		case "program", "platform", "slot", "fact":
		case "message", "text":
			if _, err := regexp.Compile(words); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the condition %q has an unknown kind", c)
		}
		if words == "" {
			return fmt.Errorf("the condition %q names nothing", c)
		}
		if kind == "platform" && words != "windows" && words != "linux" {
			for _, w := range alternatives(words) {
				if platforms[w] == nil {
					return fmt.Errorf("the platform %q is not known", w)
				}
			}
		}
	}
	return nil
}

// holds reports whether a condition holds: one of its alternatives does.
func holds(condition string, e Evidence) bool {
	rest, not := strings.CutPrefix(condition, "not ")
	kind, words, _ := strings.Cut(rest, " ")
	return met(kind, words, e) != not
}

func met(kind, words string, e Evidence) bool {
	switch kind {
	case "program":
		return slices.ContainsFunc(alternatives(words), func(name string) bool {
			if marks := programs[name]; marks != nil {
				return e.Mentions(marks...)
			}
			return e.Mentions(name)
		})
	case "platform":
		return slices.ContainsFunc(alternatives(words), func(name string) bool {
			switch name {
			case "windows":
				return e.Windows
			case "linux":
				return e.Linux
			}
			return e.Mentions(platforms[name]...)
		})
	case "message":
		return pattern(words).MatchString(e.Line)
	case "text":
		return e.Text(pattern(words))
	case "slot":
		return e.Slot(words) != ""
	case "fact":
		return e.Facts()[words] != ""
	}
	return false
}

func alternatives(words string) []string { return strings.Split(words, ", ") }

var patterns sync.Map

// pattern returns an expression that was compiled once.
func pattern(expression string) *regexp.Regexp {
	if re, known := patterns.Load(expression); known {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(expression)
	patterns.Store(expression, re)
	return re
}

// installs matches a step that installs packages whose releases it does not name.
var installs = lazyregexp.New("^(?:or )?(?:run `|install .*`)(?:python -m )?pip install ([\\w.\\[\\] -]+)`")

// has reports whether a step only installs what the pasted list has already.
func (e Evidence) has(step string) bool {
	if !strings.Contains(step, "pip install ") {
		return false
	}
	m := installs.FindStringSubmatch(step)
	if m == nil || strings.Contains(m[1], "-") && strings.Contains(" "+m[1], " -") {
		return false // -U, --upgrade, --force-reinstall: another release is meant
	}
	packages := e.Packages()
	for _, name := range strings.Fields(m[1]) {
		name, _, _ = strings.Cut(name, "[")
		if packages[Normal(name)] == "" {
			return false
		}
	}
	return true
}

// Normal writes a package's name as lists of them are compared.
func Normal(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }
