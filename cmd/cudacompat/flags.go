package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"cudacompat/internal/budget"
	"cudacompat/internal/config"
	"cudacompat/internal/deadline"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/output"
	"cudacompat/internal/report/formats"
	"cudacompat/internal/tables"
	"cudacompat/internal/terminal"
	"cudacompat/internal/usage"
	"cudacompat/matrix"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// lookFlags are the flags that say what to read.
type lookFlags struct {
	root    string
	offline bool
	envs    []string
	timeout time.Duration
}

func (f *lookFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.root, "root", "", "read the tree under `DIR` (a mounted AMI, an unpacked image, a node's file system mounted in a pod) instead of this machine")
	cmd.Flags().BoolVar(&f.offline, "offline", false,
		"ignore the running driver and read only files, to judge the system as it will be after its next boot (for image builds)")
	cmd.Flags().StringArrayVar(&f.envs, "env", nil,
		"look only at the Python environment at `PATH` (may be repeated); --env none looks at no environment (default: the active one, those of running Python processes, and all others that are found; the report says by what each was found)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0,
		"stop after `TIME` and use what was read by then (default 10s, longer with many GPUs; 120s with --root or --offline)")
}

// limit returns how long reading files may take.
func (f *lookFlags) limit() time.Duration {
	switch {
	case f.timeout > 0:
		return f.timeout
	case f.root != "" || f.offline:
		return deadline.Rest
	}
	return deadline.Live
}

// host returns the machine that the flags name, and looks for the named environments for as long as ctx lasts.
func (f *lookFlags) host(ctx context.Context) (*probe.Host, error) {
	return deadline.Run(ctx, func() (*probe.Host, error) { return f.openHost(ctx) })
}

func (f *lookFlags) openHost(ctx context.Context) (*probe.Host, error) {
	var h *probe.Host
	switch {
	case runtime.GOOS == "windows":
		return nil, &usage.Error{Message: "on Windows, cudacompat judges files and reports, but does not look at the machine",
			Hint: "cudacompat check FILE with what `python -m torch.utils.collect_env` prints; or install the Linux program inside WSL2"}
	case f.root != "" && f.offline:
		return nil, &usage.Error{Message: "--root and --offline are two ways to look only at files", Hint: "give one of them"}
	case f.offline:
		h = probe.Offline()
	case f.root != "":
		var err error
		if h, err = probe.Tree(f.root); err != nil {
			return nil, &usage.Error{Message: fmt.Sprintf("--root %s: %v", f.root, err),
				Hint: "give the directory under which the tree's /usr and /etc stand"}
		}
	default:
		h = probe.This()
	}
	h.Budget = budget.Usual(ctx)
	for i, env := range f.envs {
		if env == probe.NoEnvironments {
			continue
		}
		if f.envs[i] = environmentOf(h, env); f.envs[i] == "" {
			return nil, &usage.Error{Message: "no Python environment at " + env,
				Hint: "give the directory that holds pyvenv.cfg, lib/python3.*, or what pip install --target put there; or none"}
		}
	}
	return h, nil
}

// environmentOf returns the environment that a path belongs to: the path itself, or the one whose bin contains it
// (E/bin, E/bin/python, E/bin/activate). It returns "" if there is none. If a part of the path cannot be read, it may
// be an environment, and the report says so.
func environmentOf(h *probe.Host, name string) string {
	for _, dir := range []string{name, path.Dir(strings.TrimRight(name, "/")), path.Dir(path.Dir(name))} {
		below := strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(name, "/"), dir), "/")
		if bin, _, _ := strings.Cut(below, "/"); (below == "" || bin == "bin") && (probe.IsEnvironment(h, dir) || h.Unseen(dir)) {
			return dir
		}
	}
	return ""
}

func (f *lookFlags) options() probe.Options {
	opt := probe.Options{Timeout: f.timeout, Envs: f.envs}
	if f.timeout == 0 && f.limit() == deadline.Rest {
		opt.Timeout = deadline.Rest
	}
	return opt
}

// judgeFlags are the flags that say for which machine to judge, and how strictly.
type judgeFlags struct {
	tablesFlag
	driver, python  string
	gpus, instances []string
	require, ignore []string
	failOn          string
	formats         []string
	colour          string
	all, verbose    bool
	tables          *matrix.Tables
	given           func(flag string) bool // whether the caller gave it
	again           func() string          // the command that judges the same again
	config          string
	health          bool // what is judged is a health check
}

// again returns a command as it was typed, without output flags. For check it returns none: steps change the machine
// and not the file that was checked, so doctor must look again.
func again(cmd *cobra.Command) string {
	words, args := strings.Fields(cmd.CommandPath()), cmd.Flags().Args()
	ofFile := []string{}
	if cmd.Name() == "check" {
		words, args = []string{cmd.Root().Name(), "doctor"}, nil
		ofFile = []string{"env", "include-root", "platform", "timeout", "verify"}
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		list, many := flag.Value.(pflag.SliceValue)
		switch {
		case slices.Contains(ofFile, flag.Name):
		case slices.Contains([]string{"output", "color", "all", "verbose", "save", "wait"}, flag.Name):
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name+"="+flag.Value.String())
		case many:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+flag.Name, value)
			}
		default:
			words = append(words, "--"+flag.Name, flag.Value.String())
		}
	})
	return pin.Command(append(words, args...)...)
}

func (f *judgeFlags) add(cmd *cobra.Command) {
	f.given = cmd.Flags().Changed
	f.again = func() string { return again(cmd) }
	cmd.Flags().StringVar(&f.driver, "driver", "", "assume driver `VERSION`, or that of a SageMaker AMI, by its name")
	cmd.Flags().StringSliceVar(&f.gpus, "gpu", nil,
		gpusUsage+"give a verdict for each of several")
	cmd.Flags().StringSliceVar(&f.instances, "instance", nil,
		"give a verdict for each instance type in `LIST`, such as g5.xlarge (EC2 and other clouds)")
	cmd.Flags().StringVar(&f.python, "python", "", "assume Python `VERSION`")
	cmd.Flags().StringSliceVar(&f.require, "require", nil,
		"require what `LIST` names: driver, gpu, build (a framework built for CUDA), efa (a network adapter); exit 1 if one is missing, 3 if it could not be checked")
	cmd.Flags().StringVar(&f.failOn, "fail-on", "error", "exit 1 on findings of at least this `SEVERITY`: error or warning; with never, no finding sets the exit code")
	cmd.Flags().StringVar(&f.config, "config", "",
		"read settings such as --require and --ignore from `FILE` (default $CUDACOMPAT_CONFIG, then ./"+config.Name+
			", then /etc/cudacompat/"+config.Name+")")
	cmd.Flags().StringArrayVar(&f.ignore, "ignore", nil,
		"let findings of `RULE` pass; they stay in the report (may be repeated)")
	f.tablesFlag.add(cmd)
	addOutput(cmd, &f.formats, &f.colour, &f.all)
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false,
		"report how each fact was read, what could not be read, and where a table disagrees")
}

func addOutput(cmd *cobra.Command, outputs *[]string, colour *string, all *bool) {
	cmd.Flags().StringArrayVarP(outputs, "output", "o", nil,
		outputUsage(output.ListNames(formats.All)))
	addColour(cmd, colour)
	cmd.Flags().BoolVar(all, "all", false, "also show what passed, and every detail")
}

// outputUsage returns the help of -o for a command with these formats.
func outputUsage(formats []string) string {
	return "`FORMAT[=FILE]`: write the report as FORMAT, to FILE if one is given (may be repeated); FORMAT is one of " +
		strings.Join(formats, ", ")
}

func addColour(cmd *cobra.Command, colour *string) {
	cmd.Flags().StringVar(colour, "color", "auto", "`WHEN`: colour the output: auto, always or never; auto obeys NO_COLOR")
}

// policy checks the flags and returns the policy for matrix.
func (f *judgeFlags) policy() (verdict.Policy, error) {
	p := verdict.Policy{Today: time.Now().Format(time.DateOnly), Site: site}
	if !slices.Contains(failOnWords, f.failOn) {
		return p, usage.RejectUnknown("severity for --fail-on", f.failOn, failOnWords)
	}
	for _, want := range f.require {
		if !slices.Contains(matrix.Requirements(), want) {
			return p, usage.RejectUnknown("requirement", want, matrix.Requirements())
		}
	}
	p.Require = f.require
	for _, rule := range f.ignore {
		if !slices.Contains(ruleIDs(), rule) {
			return p, usage.RejectUnknown("rule", rule, ruleIDs())
		}
		p.Waivers = append(p.Waivers, verdict.Waiver{Rule: rule, Reason: "--ignore"})
	}
	return p, nil
}

var failOnWords = []string{"error", "warning", "never"}

func ruleIDs() []string {
	var ids []string
	for _, r := range matrix.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

// checkTarget rejects values of a target that mean nothing. For a GPU it suggests the nearest known name.
func checkTarget(target matrix.Target, t *matrix.Tables) error {
	err := target.Check(t)
	if err == nil {
		return nil
	}
	names := gpuNames(t)
	if cudaWords.MatchString(target.Driver) {
		return &usage.Error{Message: err.Error(), Hint: "that is a version of CUDA; the driver's version is in the first line of nvidia-smi"}
	}
	for _, name := range target.GPUs {
		own := matrix.Target{GPUs: []string{name}}.Check(t)
		if best := nearestGPU(name, names); own != nil && own.Error() == err.Error() && best != "" {
			if strings.Contains(best, " ") {
				best = strconv.Quote(best)
			}
			return &usage.Error{Message: err.Error(), Hint: "did you mean --gpu " + best + "?"}
		}
	}
	return &usage.Error{Message: err.Error()}
}

// gpuNames returns the names of all GPUs, as people say them: RTX 5090.
func gpuNames(t *matrix.Tables) []string {
	var names []string
	for _, chip := range tables.Rows[tables.Chip](t) {
		for _, name := range chip.Names {
			_, short, _ := strings.Cut(name, "GeForce ")
			names = append(names, cmp.Or(short, name))
		}
	}
	return names
}

// cudaWords matches a version of CUDA where a driver's is expected: "12.4", "CUDA 12.4".
var cudaWords = lazyregexp.New(`(?i)^(cuda *)?1\d\.\d{1,2}(\.\d+)?$`)

// nearestGPU returns the GPU that a name means: the shortest that contains it, otherwise the longest that it begins with
// ("RTX 5090 Ti"), otherwise the nearest.
func nearestGPU(name string, names []string) string {
	begins, contains, low := "", "", strings.ToLower(name)
	for _, known := range names {
		k := strings.ToLower(known)
		if strings.HasPrefix(low, k+" ") && len(k) > len(begins) {
			begins = known
		}
		if len(low) > 3 && strings.Contains(k, low) && (contains == "" || len(k) < len(contains)) {
			contains = known
		}
	}
	return cmp.Or(contains, begins, usage.FindNearest(name, names))
}

// targets returns the machines to judge for, or one unnamed target if the flags name none.
func (f *judgeFlags) targets() ([]matrix.Target, error) {
	base := matrix.Target{Driver: f.tables.DriverOf(f.driver), Python: f.python}
	list, err := namedMachines(f.tables, base, f.instances, f.gpus)
	if err == nil && len(list) == 0 {
		list, err = []matrix.Target{base}, checkTarget(base, f.tables)
	}
	return list, err
}

// gpusUsage begins the help of --gpu.
const gpusUsage = "assume a machine with `GPUS`, by name or compute capability, such as L4, 9.0, 8xL4 (eight of them), or P100+H100 (both); "

// namedMachines returns one target for each instance type and each value of --gpu, without duplicates. base has
// everything else that is known about the machines.
func namedMachines(t *matrix.Tables, base matrix.Target, instances, gpus []string) ([]matrix.Target, error) {
	var list []matrix.Target
	add := func(target matrix.Target) error {
		if !slices.ContainsFunc(list, func(o matrix.Target) bool { return o.Label() == target.Label() }) {
			list = append(list, target)
		}
		return checkTarget(target, t)
	}
	for _, name := range instances {
		if !t.HasInstance(name) {
			return nil, usage.RejectUnknownOfMany("GPU instance type", name, t.InstanceNames(), listInstances)
		}
		target := base
		target.Instance = name
		if err := add(target); err != nil {
			return nil, err
		}
	}
	for _, word := range gpus {
		target := base
		var err error
		if target.GPUs, err = parseGPUs(word); err == nil {
			err = add(target)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// countedGPU matches a number of GPUs in a value of --gpu, "8xL4", or as reports print it, "8 × L4".
var countedGPU = lazyregexp.New(`^(\d{1,4}) ?[xX×] ?(.+)$`)

// archName matches a compute capability as nvcc writes it: "sm_90", "compute_120a".
var archName = lazyregexp.New(`^(?:sm|compute)_(\d{1,2})(\d)[af]?$`)

// maxGPUs limits how many GPUs --gpu can give a machine.
const maxGPUs = 64

// parseGPUs returns the GPUs of the machine in a value of --gpu: L4, 8xL4, P100+H100.
func parseGPUs(word string) ([]string, error) {
	var list []string
	for name := range strings.SplitSeq(word, "+") {
		count := 1
		name = strings.TrimSpace(name)
		if m := countedGPU.FindStringSubmatch(name); m != nil {
			count, _ = strconv.Atoi(m[1])
			name = strings.TrimSpace(m[2])
		}
		name = archName.ReplaceAllString(name, "$1.$2")
		if name == "" || count == 0 || len(list)+count > maxGPUs {
			return nil, &usage.Error{Message: fmt.Sprintf("--gpu %q does not name a machine with 1 to %d GPUs", word, maxGPUs),
				Hint: "give a name or compute capability: L4, 9.0, 8xL4, P100+H100"}
		}
		list = append(list, slices.Repeat([]string{name}, count)...)
	}
	return list, nil
}

// oneMachine rejects flags that name several machines for a command that takes one. The hint shows how to put several
// GPUs into one machine.
func oneMachine(command string, instances, gpus []string) error {
	several := command + " takes one machine, but the flags name several"
	switch {
	case len(instances) == 0 && len(gpus) > 1:
		return &usage.Error{Message: several, Hint: "--gpu " + pin.Word(strings.Join(gpus, "+")) + " is one machine with all of them"}
	case len(instances) > 0 && len(instances)+len(gpus) > 1:
		return &usage.Error{Message: several, Hint: "name one: --instance " + pin.Word(instances[0])}
	}
	return nil
}

// readMachine reads the machine and shows on a terminal what takes long.
func (f *lookFlags) readMachine(ctx context.Context, h *probe.Host, says io.Writer) probe.Facts {
	p := terminal.NewProgress(says)
	defer p.End()
	opt := f.options()
	if !p.IsShown() {
		return probe.Run(ctx, h, opt)
	}
	reading := make(chan string, 100)
	opt.Tell = func(source string) {
		select {
		case reading <- source:
		default:
		}
	}
	done := make(chan struct{})
	defer close(done)
	go p.Watch(f.nameMachine(), reading, done)
	return probe.Run(ctx, h, opt)
}

// nameMachine returns what is being read, for a progress line.
func (f *lookFlags) nameMachine() string {
	if f.root != "" {
		return f.root
	}
	return "this machine"
}
