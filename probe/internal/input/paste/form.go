package paste

import (
	"strings"

	"cudacompat/internal/lazyregexp"
)

// TensorFlow's form for issues asks for one value below each heading, and its older one for items of a list:
//
//	### TensorFlow version
//
//	2.18.0
//
//	- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Windows 10
var (
	formHeading = lazyregexp.New(`(?i)^(?:#{1,6}\s+)?(TensorFlow version|OS platform and distribution|Python version|GPU model and memory)\s*$`)
	formItem    = lazyregexp.New(`(?i)^[\s>*-]*\**(TensorFlow version|OS platform and distribution|Python version|GPU model and memory)\**` +
		`(?: \([^)]*\))?\**:\**\s+(\S.*?)\s*$`)
	formRelease = lazyregexp.New(`(?i)^(?:tf|tensorflow|v)?\s*v?(\d+\.\d+(?:\.\d+\S*)?)`)
	formTurned  = lazyregexp.New(`(?i)^(\d{4})(?: ?(Ti|SUPER))? (RTX|GTX)\b`)
)

// formTensorFlow begins the line of the release.
const formTensorFlow = "TensorFlow version: "

// isForm reports whether a text is such a form and names the release of TensorFlow.
func isForm(text string) bool {
	form := readForm(text)
	return form != text && strings.Contains(form, formTensorFlow)
}

// readForm returns a text with the values of a form as lines of a report, "OS: Windows 10". It returns other text as it is.
func readForm(text string) string {
	if !strings.Contains(strings.ToLower(text), "os platform and distribution") {
		return text
	}
	var out strings.Builder
	heading := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if m := formHeading.FindStringSubmatch(bare); m != nil {
			heading = m[1]
			continue
		}
		if m := formItem.FindStringSubmatch(line); m != nil && heading == "" {
			out.WriteString(formLine(m[1], m[2]))
			continue
		}
		if heading == "" || bare == "" {
			out.WriteString(line)
			continue
		}
		out.WriteString(formLine(heading, bare))
		heading = ""
	}
	return out.String()
}

// formLine returns a value of the form as a line of a report.
func formLine(key, value string) string {
	switch strings.ToLower(key) {
	case "tensorflow version":
		if m := formRelease.FindStringSubmatch(value); m != nil {
			return formTensorFlow + m[1] + "\n"
		}
	case "os platform and distribution":
		return "OS: " + value + "\n"
	case "gpu model and memory":
		value = formTurned.ReplaceAllString(value, "$3 $1 $2")
		if m := saidGPU.FindStringSubmatch(value); m != nil {
			return "GPU: NVIDIA " + strings.TrimSpace(m[1]+m[2]) + "\n"
		}
	}
	return key + ": " + value + "\n"
}
