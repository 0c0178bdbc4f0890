package matrix

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cudacompat/matrix/verdict"
	"cudacompat/probe"

	"golang.org/x/tools/txtar"
)

// onlyLinux matches what no fix for Windows may name.
var onlyLinux = regexp.MustCompile(`\b(?:apt|apt-get|dnf|yum|modprobe|sudo|systemctl|ldconfig|dmesg|dracut|mokutil|ulimit|LD_LIBRARY_PATH)\b|` +
	`\bexport |\.run\b|update-initramfs|docker run|cudacompat doctor|(?:^|[\s"'=:])/(?:etc|usr|dev|proc|sys|opt|lib|boot)/`)

// TestWindowsFixes checks that no rule's fix names a command or a path of Linux on Windows. It takes the first case of each
// rule that fires, as if it were of Windows. What only Linux has may then fire too, and its fix has nothing of Linux, either.
func TestWindowsFixes(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	fixes, drivers := 0, 0
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "fires*.txtar"))
		if len(files) == 0 {
			continue
		}
		archive, err := txtar.ParseFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		v := judgeFacts(t, archive, false, func(f *probe.Facts) { f.System.OS, f.System.WSL = "Windows 11", false })
		for _, f := range v.Findings {
			for _, text := range fixTexts(f) {
				fixes++
				if strings.Contains(text, "driver for Windows") {
					drivers++
				}
				if word := onlyLinux.FindString(text); word != "" {
					t.Errorf("%s: %s: a fix for Windows names %q: %s", files[0], f.Rule, word, text)
				}
			}
		}
	}
	if fixes < 30 || drivers < 3 {
		t.Errorf("%d fixes, %d of which name the driver for Windows: the cases no longer reach them", fixes, drivers)
	}
}

// fixTexts returns everything that a finding tells people to do.
func fixTexts(f verdict.Finding) []string {
	var list []string
	for _, s := range f.Steps {
		list = append(list, s.Run+" "+s.Say)
	}
	for _, p := range f.Pins {
		for _, command := range p.Commands {
			list = append(list, command)
		}
		for _, s := range p.Steps {
			list = append(list, s.Run+" "+s.Say)
		}
	}
	return list
}
