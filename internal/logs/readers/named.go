package readers

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/logs/advise"
	"cudacompat/internal/logs/finding"
	"cudacompat/internal/logs/record"
)

// numberType matches a number type as PyTorch and TensorFlow name it.
var numberType = lazyregexp.New(`(?i)\b(?:b?float(?:16|32|64)?|half|double|long|int(?:8|16|32|64)?|short|u?int8|byte|bool|` +
	`complex\w*)(?:Tensor|Type)?\b`)

// nameNumberTypes adds the two number types that do not match to the explanation, if the message names them:
//
//	Input type (c10::Half) and bias type (float) should be the same
func nameNumberTypes(f *finding.Finding) bool {
	var met []string
	for _, name := range numberType.FindAllString(f.Text[f.Match[0]:], -1) {
		if !slices.ContainsFunc(met, func(m string) bool { return strings.EqualFold(m, name) }) {
			met = append(met, name)
		}
	}
	if len(met) == 2 {
		f.Because = fmt.Sprintf("Tensors of different number types met in one operation: %s and %s.", met[0], met[1])
	}
	return true
}

// readLibrary names what a missing library belongs to, and the wheels that bring it, if the table has them.
func readLibrary(f *finding.Finding) bool {
	name := f.Group("library")
	if strings.HasPrefix(name, "libc10") || strings.HasPrefix(name, "libtorch") {
		r := record.Record{Slots: map[string]string{"library": name}}
		of := finding.New(&r, finding.FindAnswer("torch-library"))
		f.Because, f.Do = of.Because, of.Do
		return true
	}
	if strings.HasSuffix(name, ".so") {
		explainUnversioned(f, name)
		return true
	}
	known := record.Tables().Library(name)
	if known == nil {
		return true
	}
	f.Because = fmt.Sprintf("%s (%s of CUDA %s) was not found.", name, known.Library, strings.Join(known.CUDA, " or "))
	bring := "run `pip install " + known.Pip[0] + "`: it brings the library"
	if len(known.Pip) > 1 {
		bring = "install the wheel that brings it for the CUDA of the program: " + strings.Join(known.Pip, ", ")
	}
	f.Do = []string{bring + otherMajor(known.CUDA),
		"or take the build of the program for the CUDA that is installed: `cudacompat doctor` shows both",
		"if a copy is there, put its directory on LD_LIBRARY_PATH"}
	return true
}

// readSoname names the distribution packages with a library, as their rules derive them from its soname: Debian's
// policy of name and version, rpm's as a capability.
func readSoname(f *finding.Finding) bool {
	soname := f.Group("library")
	debian := debianPackage(soname)
	if debian == "" {
		return true
	}
	r := record.Record{Slots: map[string]string{"library": soname, "package": debian}}
	f.Do = r.FillSteps([]string{
		"run `find / -name \"{library}*\"` where the program runs, in a container inside it: is it there?",
		"if not, install it there, in a container into its image: on Debian and Ubuntu mostly `apt-get install {package}`, on Fedora and RHEL `dnf install '{library}()(64bit)'`",
		"if it is, put its directory on LD_LIBRARY_PATH, or run `ldconfig`"})
	return true
}

// debianPackage returns the package for a library by Debian's policy, from the name and version in its soname, or "" if
// it has no version.
func debianPackage(soname string) string {
	name, version, _ := strings.Cut(soname, ".so.")
	if version == "" {
		return ""
	}
	if last := name[len(name)-1]; last >= '0' && last <= '9' {
		name += "-"
	}
	return strings.ToLower(strings.ReplaceAll(name, "_", "-")) + version
}

// explainUnversioned explains that a library name without a version is only a link.
func explainUnversioned(f *finding.Finding, name string) {
	f.Because = name + " was not found: a name without a version is a link that only development packages bring."
	r := record.Record{Slots: map[string]string{"library": name}}
	f.Do = r.FillSteps([]string{"run `find / -name '{library}*'`: is the library there with a version?",
		"link it in its directory: `ln -s {library}.VERSION {library}`, or install the development package of the toolkit",
		"if it is not there at all, install the toolkit or the wheel that brings it"})
}

// otherMajor returns the condition for installing a library of one CUDA: no torch for another CUDA is installed, which
// would not fit either.
func otherMajor(cuda []string) string {
	if len(cuda) != 1 {
		return ""
	}
	switch major, _, _ := strings.Cut(cuda[0], "."); major {
	case "12":
		return advise.Mark + `not text \+cu1[13]\d`
	case "13":
		return advise.Mark + `not text \+cu1[12]\d`
	}
	return ""
}
