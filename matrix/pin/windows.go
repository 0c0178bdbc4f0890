package pin

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// linuxWords matches the commands and paths that mean nothing on Windows.
var linuxWords = lazyregexp.New("(?:^|[^\\w-])(?:ldconfig|LD_LIBRARY_PATH|LD_PRELOAD|apt(?:-\\w+)?|dnf|yum|zypper|pacman|dmesg|modprobe|rmmod|lsmod|dkms|" +
	"mokutil|update-initramfs|dracut|ldd|systemctl|journalctl|nvidia-modprobe|nvidia-persistenced|lsof|sudo|export|unset|libstdc\\+\\+|gcc-\\d+|free -h|" +
	"ipc=host|shm-size|docker run|podman|srun|ulimit|chmod|ln -s)(?:$|[^\\w-])|\\.run\\b|/(?:dev|etc|usr|proc|sys|lib|opt|boot|tmp)/")

// LinuxOnly reports whether a text names a command or a path that only Linux has.
func LinuxOnly(text string) bool { return linuxWords.MatchString(text) }

// reportStep takes the place of running cudacompat on Windows itself, which it does not examine.
const reportStep = "write a report with `python -m torch.utils.collect_env > report.txt`, and give it to `cudacompat check report.txt`"

// doctorCommand is what examines the machine that it runs on.
const doctorCommand = "cudacompat doctor"

// TextForWindows returns a remedy in words that hold on Windows: cudacompat examines no Windows machine itself, but the
// report of one.
func TextForWindows(text string) string {
	if strings.Contains(text, doctorCommand) {
		return reportStep
	}
	return text
}

// ForWindows returns the steps without those that are only for Linux. Quote marks in its commands are those that cmd
// and PowerShell both read.
func ForWindows(steps []Step) []Step {
	var list []Step
	or := false
	for _, s := range steps {
		or = or || s.Or
		if LinuxOnly(s.Run) || LinuxOnly(s.Say) {
			continue
		}
		if !strings.Contains(s.Run, `"`) {
			s.Run = strings.ReplaceAll(s.Run, "'", `"`)
		}
		if said := TextForWindows(s.Run + s.Say); said == reportStep {
			s.Run, s.Say = "", said
		}
		s.Or, or = or && len(list) > 0, false
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// CommandsForWindows removes the commands of Linux' package managers.
func CommandsForWindows(commands map[string]string) {
	for tool, command := range commands {
		if LinuxOnly(command) {
			delete(commands, tool)
		} else if !strings.Contains(command, `"`) {
			commands[tool] = strings.ReplaceAll(command, "'", `"`)
		}
	}
}
