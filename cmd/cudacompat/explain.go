package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"cudacompat/docs"
	"cudacompat/internal/deadline"
	"cudacompat/internal/inputs"
	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs"
	"cudacompat/internal/logs/decide"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/signature"
	"cudacompat/internal/output"
	"cudacompat/internal/report/diagnosis"
	"cudacompat/internal/report/plaintext"
	"cudacompat/internal/tables"
	"cudacompat/internal/usage"
	"cudacompat/matrix"

	"github.com/spf13/cobra"
)

// explainFlags are the flags of explain: the source of the facts that a log is compared with, and the output.
type explainFlags struct {
	tablesFlag
	tables   *matrix.Tables
	facts    string
	machines []string // files among the logs that describe their machine
	driver   string
	gpu      string
	on       string // an instance type
	here     bool
	noHere   bool
	envs     []string
	timeout  time.Duration
	formats  []string
	colour   string
	all      bool
	verbose  bool
}

func explainCommand(s streams) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [RULE | CAUSE | CODE | NAME | TEXT | LOG...]",
		Short: "Explain a log, an error code, a library or a rule",
		Long:  "Reads logs (files, directories, - for standard input, or a line in quotes) and says whether the environment, the program or the hardware is to blame. Given a rule (what `doctor` checks), a cause (what a log can show), an error code (803), an error's name (cudaErrorInsufficientDriver), a library (libcudnn.so.9) or an Xid (xid79), prints the page about it. Without arguments, reads what a pipe brings, as in kubectl logs POD | cudacompat explain, and else lists the rules and causes.",
		Example: "  cudacompat explain train.log\n" +
			"  cudacompat explain train.log nvidia-smi.txt\n" +
			"  cudacompat explain \"RuntimeError: CUDA error: no kernel image is available\"\n" +
			"  cudacompat explain 803",
		Annotations: map[string]string{exitNote: "0 the program is to blame, the log shows nothing wrong, or a page was printed · 1 the environment or the hardware is to blame · 3 the log does not tell · " + exitOwn},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.Flags().Changed("timeout"), s)
		},
	}
	f.addFlags(cmd)
	return cmd
}

// addFlags adds the flags of explain.
func (f *explainFlags) addFlags(cmd *cobra.Command) {
	f.tablesFlag.add(cmd)
	cmd.Flags().StringVar(&f.facts, "facts", "",
		"look for the log's fault in `FILE`, the JSON of probe or of doctor -o json on the machine, and say what to install")
	cmd.Flags().StringVar(&f.driver, "driver", "", "assume that the log comes from a machine with driver `VERSION`")
	cmd.Flags().StringVar(&f.gpu, "gpu", "", "assume that the log comes from a machine with `GPUS`, such as L4 or 8xL4")
	cmd.Flags().StringVar(&f.on, "instance", "", "assume that the log comes from an instance of `TYPE`, such as g5.xlarge")
	cmd.Flags().DurationVar(&f.timeout, "timeout", deadline.Log,
		"stop reading after `TIME` and judge what was read by then")
	cmd.Flags().BoolVar(&f.here, "here", false,
		"look for the log's fault on this machine, and say what to install (default: where the log names this machine's driver or files)")
	cmd.Flags().BoolVar(&f.noHere, "no-here", false, "judge only the log, whichever machine it is of")
	cmd.Flags().StringArrayVar(&f.envs, "env", nil,
		"look for the log's fault on this machine, with the Python environment at `PATH` (may be repeated)")
	cmd.Flags().StringArrayVarP(&f.formats, "output", "o", nil, outputUsage(output.ListNames(diagnosis.Formats)))
	addColour(cmd, &f.colour)
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "say which line decided and why, and what it was chosen over")
	cmd.Flags().BoolVar(&f.all, "all", false, "show every log line that the verdict rests on, and every step that may help")
}

// run explains what the arguments name. limited tells that --timeout was given.
func (f *explainFlags) run(ctx context.Context, args []string, limited bool, s streams) error {
	reading, cancel := deadline.Set(ctx, max(f.timeout, deadline.JudgingReserve))
	defer cancel()
	// Without an explicit limit, a log that takes all of its own time still leaves time to look at this
	// machine.
	if limited && f.timeout > 0 {
		bound, end := deadline.Set(ctx, f.timeout)
		defer end()
		ctx = bound
	}
	var err error
	if f.tables, err = f.load(reading); err != nil {
		return err
	}
	isFile := true
	if len(args) == 1 {
		if isFile, err = deadline.Run(reading, func() (bool, error) { return isLog(args[0]), nil }); err != nil {
			return err
		}
	}
	if len(args) == 0 {
		if s.in = inputs.OpenPipe(s.in); s.in != nil {
			return f.logs(ctx, []string{"-"}, s)
		}
	}
	switch {
	case len(args) == 0:
		return f.listPages(s)
	case !isFile:
		return f.page(ctx, args[0], s)
	}
	if args, err = f.apartFromMachine(reading, args); err != nil {
		return err
	}
	return f.logs(ctx, args, s)
}

// isLog reports whether an argument names something to read: an existing path, or standard input.
func isLog(name string) bool {
	_, err := os.Stat(name)
	return err == nil || name == "-"
}

// page writes what is known about a word. A text with a space is a log, unless removing the spaces gives a known name.
func (f *explainFlags) page(ctx context.Context, text string, s streams) error {
	name := strings.Join(strings.Fields(text), "")
	if name == "" {
		return &usage.Error{Message: "the argument of explain is empty: is a variable unset?", Hint: inputs.LogHint}
	}
	page, err := f.pageOf(name)
	switch {
	case err != nil:
		return err
	case page != nil:
		return output.ParseAndWrite(ctx, s.out, s.err, diagnosis.PageFormats, f.formats, f.colour, f.all, diagnosis.NewExplanation(name, page))
	case strings.ContainsAny(text, " \n"):
		return f.text(ctx, text, s)
	}
	if code, err := strconv.Atoi(name); err == nil && code >= 9000 && code < 100000 && code%10 == 0 {
		return &usage.Error{Message: fmt.Sprintf("%q is not an error code", name),
			Hint: fmt.Sprintf("it is CUDA %d.%d, as cuDriverGetVersion and CUDART_VERSION write it", code/1000, code%1000/10)}
	}
	return f.misspelt(name)
}

// pageOf returns the page of a rule, a code, a name, a library or a cause, in Markdown, or nil.
func (f *explainFlags) pageOf(name string) ([]byte, error) {
	if slices.Contains(matrix.RuleIDs(), name) {
		return fs.ReadFile(docs.Rules, "rules/"+name+".md")
	}
	word, err := f.word(name)
	if err != nil {
		return nil, err
	}
	if page := diagnosis.DescribeWord(word); page != nil {
		return page, nil
	}
	return f.cause(name)
}

// word returns what is known about a word, and the steps for the causes that it stands for.
func (f *explainFlags) word(name string) (diagnosis.Known, error) {
	k := knownWord(f.tables, name)
	if len(k.Statuses) == 0 {
		return k, nil
	}
	all, err := f.answers()
	if err != nil {
		return k, err
	}
	k.Steps = map[string][]string{}
	for _, s := range k.Statuses {
		if k.Steps[s.Cause] == nil {
			k.Steps[s.Cause] = signature.FindSteps(all, s.Cause, s.Name, s.Text)
		}
	}
	return k, nil
}

// xidWord matches the ways in which people write an Xid: xid79, "Xid-79".
var xidWord = lazyregexp.New(`(?i)^s?xid[-_:#]?(\d+)$`)

// knownWord returns what the tables know about a word: the names of statuses and libraries, the numbers of CUDA errors
// and Xids.
func knownWord(t *matrix.Tables, word string) diagnosis.Known {
	k := diagnosis.Known{Word: word}
	code, err := strconv.Atoi(word)
	if m := xidWord.FindStringSubmatch(word); m != nil {
		code, err = strconv.Atoi(m[1])
	} else if err == nil {
		k.Statuses, k.Ended = t.Statuses("", code), finding.DescribeSignal(code)
	} else {
		k.Statuses = t.Statuses(word, 0)
		k.Library, k.OfDriver = t.Library(word), finding.IsDriverLibrary(word)
	}
	if err == nil {
		k.Xid = t.XidNumber(code)
	}
	return k
}

// names returns the words for which knownWord has an answer.
func names(t *matrix.Tables) []string {
	var all []string
	for _, s := range tables.Rows[tables.Status](t) {
		all = append(all, s.Name)
	}
	for _, l := range tables.Rows[tables.Library](t) {
		all = append(all, l.Name)
	}
	return all
}

// cause returns the page of one of explain's own causes, from its signatures, or nil.
func (f *explainFlags) cause(name string) ([]byte, error) {
	all, err := f.answers()
	if err != nil {
		return nil, err
	}
	var own []signature.Signature
	for _, sig := range all {
		if sig.Cause == name && sig.Because != "" {
			own = append(own, sig)
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	return diagnosis.DescribeCause(own), nil
}

// misspelt returns the error for an unknown word.
func (f *explainFlags) misspelt(name string) error {
	if strings.ContainsAny(name, "/.") && usage.FindNearest(name, names(f.tables)) == "" {
		return &usage.Error{Message: fmt.Sprintf("there is no file %q", name), Hint: inputs.LogHint}
	}
	all, err := f.answers()
	if err != nil {
		return err
	}
	return usage.RejectUnknownOfMany("rule, cause, code, name or file", name,
		slices.AppendSeq(append(matrix.RuleIDs(), names(f.tables)...), maps.Keys(causes(all))), listPages)
}

// listPages says how to list the words that have a page. A word without one may be a line of a log: "Killed".
const listPages = "cudacompat explain`; for a line of a log: `echo LINE | cudacompat explain -"

// answers returns the signatures, and the answers of package logs for lines that no signature decides.
func (f *explainFlags) answers() ([]signature.Signature, error) {
	all, err := f.signatures(f.tables)
	return append(all, finding.Answers()...), err
}

// causes returns the causes that have a page, with the side that each blames.
func causes(all []signature.Signature) map[string]logs.Blame {
	blamed := map[string]logs.Blame{}
	for _, sig := range all {
		if sig.Because != "" {
			blamed[sig.Cause] = sig.Blame
		}
	}
	return blamed
}

func (f *explainFlags) listPages(s streams) error {
	if _, err := output.ChooseStyle(f.colour, s.out); err != nil {
		return err
	}
	all, err := f.answers()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, "Rules (cudacompat explain RULE):")
	for _, r := range matrix.Rules() {
		fmt.Fprintf(&b, "  %-26s  %s\n", r.ID, r.Title)
	}
	fmt.Fprintln(&b, "\nCauses that logs show (cudacompat explain CAUSE, or explain LOG to find out which):")
	blamed := causes(all)
	for _, blame := range decide.Blames {
		fmt.Fprintf(&b, "\n%s:\n", plaintext.NameBlame(blame))
		for _, c := range slices.Sorted(maps.Keys(blamed)) {
			if blamed[c] == blame && !slices.Contains(matrix.RuleIDs(), c) {
				fmt.Fprintln(&b, "  "+c)
			}
		}
	}
	return writePage(s.out, b.Bytes())
}

// writePage writes a page and returns an error if that fails.
func writePage(w io.Writer, page []byte) error {
	if _, err := w.Write(page); err != nil {
		return fmt.Errorf("cannot write the page: %w", err)
	}
	return nil
}

// logs diagnoses logs.
func (f *explainFlags) logs(ctx context.Context, names []string, s streams) error {
	if f.facts == "-" && slices.Contains(names, "-") {
		return &usage.Error{Message: "the log and --facts are both standard input", Hint: "give one of them as a file"}
	}
	if inputs.NamesStandardInputTwice(names) {
		return inputs.ErrStandardInputTwice
	}
	return f.writeDiagnosis(ctx, s, func(all []signature.Signature) (logs.Diagnosis, []byte, error) {
		return inputs.ReadLogs(ctx, all, names, f.timeout, s.in)
	})
}

// text diagnoses lines that stand on the command line.
func (f *explainFlags) text(ctx context.Context, text string, s streams) error {
	return f.writeDiagnosis(ctx, s, func(all []signature.Signature) (logs.Diagnosis, []byte, error) {
		d, err := inputs.JudgeLogs(ctx, all, []logs.Source{{Name: "the text", Reader: strings.NewReader(text)}})
		return d, []byte(text), err
	})
}

// writeDiagnosis writes a diagnosis, combined with the machine that wrote the log if that is known. The diagnosis comes
// with the beginning of the log.
func (f *explainFlags) writeDiagnosis(
	ctx context.Context,
	s streams,
	diagnose func([]signature.Signature) (logs.Diagnosis, []byte, error),
) error {
	if err := f.oneMachine(); err != nil {
		return err
	}
	outputs, err := output.Parse(explainFormats(), f.formats, f.colour, f.all, s.out, s.err)
	if err != nil {
		return err
	}
	all, err := f.signatures(f.tables)
	if err != nil {
		return err
	}
	d, head, err := diagnose(all)
	if err != nil {
		return err
	}
	if len(head) == 0 && d.Cause == logs.NothingFound && len(d.Unread) == 0 {
		d.Because = "Nothing found: the log is empty."
	}
	explained := diagnosis.Explained{Diagnosis: d, Verbose: f.verbose}
	if err := f.compare(ctx, &explained, head, s.in); err != nil {
		return err
	}
	if err := outputs.Write(ctx, explained); err != nil {
		return err
	}
	return exitForBlame(explained.Blame)
}

// exitForBlame returns the exit code: 0 for the program's fault or nothing wrong, 1 for the environment or hardware, 3
// for unknown.
func exitForBlame(b logs.Blame) error {
	switch b {
	case logs.Program, logs.None:
		return nil
	case logs.Environment, logs.Hardware:
		return exitError(exitIncompatible)
	}
	return exitError(exitInconclusive)
}
