package formats

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/internal/report"
	"cudacompat/internal/report/layout"
	"cudacompat/internal/report/reporttest"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

// TestScriptsParse checks that every case's script parses as a POSIX shell program.
func TestScriptsParse(t *testing.T) {
	for name, r := range reporttest.Cases(t, "../testdata") {
		text := reporttest.Show(t, All, r, "script", layout.Style{})
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), name); err != nil && name != "hostile" {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), name); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestScriptRuns runs scripts with stub programs that record their calls.
func TestScriptRuns(t *testing.T) {
	mends := func(steps ...pin.Step) report.Report {
		return report.Report{Verdict: verdict.Verdict{Outcome: verdict.Incompatible, Findings: []verdict.Finding{
			{Rule: "a", Severity: verdict.Error, Subject: "driver", Message: "m", Steps: steps},
			{Rule: "b", Severity: verdict.Error, Subject: "driver", Message: "n", Steps: []pin.Step{pin.Run("sudo second"), pin.Run("sudo first")}},
			{Rule: "c", Severity: verdict.Note, Subject: "driver", Message: "n", Steps: []pin.Step{pin.Run("sudo never")}},
		}}}
	}
	for _, c := range []struct {
		name   string
		report report.Report
		sound  int // after how many judgements the machine is sound; 0: never
		input  string
		want   string
		code   int
	}{
		{"one after the other", mends(pin.Run("sudo first && sudo more"), pin.Run("sudo other").Instead()), 0, "",
			"sudo first, sudo more, doctor, sudo second, doctor, sudo first, doctor", 0},
		{"ends when it is sound", mends(pin.Run("sudo first")), 1, "", "sudo first, doctor", 0},
		{"the same command once", mends(pin.Run("sudo first")), 0, "", "sudo first, doctor, sudo second, doctor", 0},
		{"a reboot ends it", mends(pin.Run("sudo reboot")), 0, "", "sudo reboot", 0},
		{"words first wait for the reader", mends(pin.Say("stop what runs"), pin.Run("sudo first"), pin.Say("a remark")), 0, "\n",
			"doctor, sudo first, doctor, sudo second, doctor", 0},
		{"nobody is there", mends(pin.Say("stop what runs"), pin.Run("sudo first")), 0, "", "", 1},
		{"a command that fails ends it", mends(pin.Run("sudo fail")), 0, "", "sudo fail", 4},
	} {
		dir := t.TempDir()
		log := filepath.Join(dir, "log")
		program(t, dir, "sudo", "echo sudo \"$@\" >>"+log+"; case $1 in fail) exit 4;; esac")
		program(t, dir, "cudacompat", "echo \"$1\" >>"+log+"; n=$(grep -c doctor "+log+"); case $n in "+
			map[bool]string{true: "1", false: "none"}[c.sound == 1]+") exit 0;; esac; exit 1")
		cmd := exec.Command("/bin/sh", "-c", reporttest.Show(t, All, c.report, "script", layout.Style{}))
		cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
		cmd.Stdin = strings.NewReader(c.input)
		out, _ := cmd.CombinedOutput()
		did, _ := os.ReadFile(log)
		if diff := cmp.Diff(c.want, strings.Join(strings.FieldsFunc(string(did), func(r rune) bool { return r == '\n' }), ", ")); diff != "" ||
			cmd.ProcessState.ExitCode() != c.code && c.code != 0 {
			t.Errorf("%s: exit %d (-want +got):\n%s\n%s", c.name, cmd.ProcessState.ExitCode(), diff, out)
		}
	}
}

// TestScriptOfATree checks that the commands for a tree run inside it and not on the machine that runs the script.
func TestScriptOfATree(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	program(t, dir, "sudo", "printf '<%s>' sudo \"$@\" >>"+log)
	program(t, dir, "cudacompat", "exit 0")
	report := report.Report{Verdict: verdict.Verdict{Outcome: verdict.Incompatible, Findings: []verdict.Finding{{Rule: "a",
		Severity: verdict.Error, Subject: "torch", Message: "m", Steps: []pin.Step{pin.Run(pin.Command("pip", "install", "it's"))}}}}}
	cmd := exec.Command("/bin/sh", "-c", reporttest.Show(t, All, report, "script", layout.Style{Root: "my image"}))
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	out, _ := cmd.CombinedOutput()
	did, _ := os.ReadFile(log)
	want := `<sudo><chroot><my image></bin/sh><-c>` + "<" + pin.Command("pip", "install", "it's") + ">"
	if string(did) != want {
		t.Errorf("the script ran %s, want %s\n%s", did, want, out)
	}
}

func program(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestIssueIsPrivate checks that the report has no user's name, and no text from the machine outside code blocks.
func TestIssueIsPrivate(t *testing.T) {
	r := report.Report{Verdict: verdict.Verdict{Outcome: verdict.Incompatible, Findings: []verdict.Finding{{Rule: "a", Severity: verdict.Error,
		Subject: "torch 2.9.0 in /home/ada/venv", Message: "Python imports /home/ada/x.py ````` [x](javascript:y)",
		Steps: []pin.Step{pin.Say("rename /Users/bo/torch.py")}}}}}
	text := reporttest.Show(t, All, r, "markdown", layout.Style{})
	for _, not := range []string{"ada", "/bo/"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
	if fence := strings.Repeat("`", 6); strings.Count(text, "\n"+fence+"\n")+strings.Count(text, fence+"text\n") != 4 {
		t.Errorf("the blocks are not fenced by %s:\n%s", fence, text)
	}
}
