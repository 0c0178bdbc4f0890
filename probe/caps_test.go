package probe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// caps maps each limit of the probe to its effect. A build that was left out must be recorded as not looked at, or the
// whole input rejected; neither leads to exit code 0.
var caps = map[string]string{
	"internal/input/paste maxMachines":            "refused",
	"internal/input/paste maxParts":               "refused",
	"internal/input/paste maxGap":                 "judged",  // what Python printed further below is of an unknown release
	"internal/input/paste maxArguments":           "judged",  // likewise
	"internal/input maxReported":                  "refused", // as a report of one machine with too much in it
	"internal/input/requirements maxIncludes":     "unread",  // each file that is left is named
	"internal/input/requirements MaxIncludeBytes": "unread",
	"internal/input/dockerfile/shell MaxValue":    "unread", // what such a variable names has no known release
	"internal/input/dockerfile/shell MaxExpanded": "unread",
	"internal/input/dockerfile/shell MaxScript":   "unread",
	"internal/input/dockerfile/shell maxOpened":   "unread",
	"internal/input/dockerfile/shell maxCommands": "unread",
	"internal/input/dockerfile maxFollowed":       "unread", // a file that commands changed is then named
	"internal/input/dockerfile/bash maxBraced":    "unread",
	"internal/input/dockerfile maxFilled":         "unread",
	"internal/input/dockerfile/sed maxCommands":   "unread", // the file that sed edits is then named
	"internal/input/paste maxImages":              "shown",
	"internal/input/request maxMarker":            "judged", // the requirement, as if it were for this machine
	"internal/input/request maxForked":            "judged", // all sets of packages as one
	"internal/input/pyproject maxIndexes":         "unread",
	"internal/input/request maxPatches":           "judged", // later ones as the release of their minor version before them
	"internal/input/document maxObjects":          "refused",
	"internal/input/document maxTables":           "refused",
	"internal/input/document maxInline":           "refused",
	"internal/input/document maxLines":            "refused",
	"internal/input/document MaxGPUs":             "refused",
	"internal/input/document MaxRows":             "refused",
	"internal/input/document maxInstructions":     "refused",
	"internal/input/document maxEntries":          "refused",
	"internal/input/document maxTags":             "refused",
	"internal/input/document maxWords":            "refused",
	"internal/input/document maxProject":          "refused",
	"internal/input/document maxWheels":           "refused",
	"internal/input/document maxMembers":          "refused",
	"internal/input/document maxValues":           "refused",
	"internal/input/document maxDepth":            "refused",
	"internal/input/document maxEnvironments":     "refused",
	"internal/input/document maxBuilds":           "refused",

	"internal/change maxLacks": "judged", // the first of what a distribution lacks leaves it as open as all

	"internal/pyenv MaxPathFiles": "unread",
	"internal/pyenv maxRoots":     "unread",
	"internal/pyenv maxCondaList": "unread",
	"internal/pyenv maxProcesses": "unread",
	"host maxSkipped":             "unread", // one place stands for the others

	// Less is then known about an import: libraries that the remaining files load are not reported.
	"internal/pysource maxLibraries": "judged",
	"internal/pysource maxLines":     "judged",
	"internal/pyimport maxSources":   "judged",
	"internal/pyimport maxRequired":  "judged",
	"internal/pyimport maxConstants": "judged",

	"internal/nvml maxAnswer":  "failed", // NVML is then no source; the others tell of the driver
	"internal/nvml maxLines":   "failed",
	"internal/nvml maxObjects": "failed",
	"internal/nvml maxErrors":  "failed",
	"internal/nvml maxGPUs":    "failed",

	// An image that has more is refused.
	"internal/image maxEntries":  "refused",
	"internal/image maxNames":    "refused",
	"internal/image maxUnpacked": "refused",
	"internal/image maxFile":     "refused",
	"internal/image maxLayers":   "refused",
	"internal/image maxMembers":  "refused",
	"internal/image maxDocument": "refused",
	"internal/image maxStream":   "refused",
	"internal/image maxWindow":   "refused",
	"internal/image maxStore":    "refused",
	"internal/image maxDepth":    "refused",
	"internal/image maxLinks":    "refused",
	"internal/image maxImages":   "refused",
	"internal/image maxString":   "refused",
	"internal/image maxStrings":  "refused",
	// Reading a part of a file that was not kept fails, and the image is then not judged.
	"internal/image maxRanges":  "unread",
	"internal/image maxCaught":  "unread",
	"internal/image maxTexts":   "unread",
	"internal/image maxLoader":  "unread",
	"internal/image maxScratch": "unread",
	"internal/image maxPython":  "unread",

	"internal/pydist maxHeader":   "judged", // by what stands above
	"internal/pyenv MaxMatches":   "judged", // by the first ones
	"internal/driver maxPackages": "failed", // those before it stand
	"internal/driver maxStanza":   "failed", // of dpkg's status, what comes before stands

	"host maxLinks": "error", // ELOOP, as of the kernel's own limit

	// printed or compared, but not judged
	"internal/nvml maxMIG":                 "shown",
	"internal/efa maxUnresolved":           "shown",
	"internal/input/smi maxStrange":        "shown", // names of fields that nobody knows
	"internal/input/collectenv maxStrange": "shown",
	"internal/kernel maxKernelLines":       "shown",
	"internal/container maxMissing":        "shown",
	"internal/loader maxUnresolved":        "shown",
	"internal/pydist maxCompared":          "shown", // which of two copies of one distribution is the truer
}

// capName matches the names of limits.
var capName = regexp.MustCompile(`^[mM]ax[A-Z]`)

// TestEveryCapIsListed finds limits that nobody has thought through.
func TestEveryCapIsListed(t *testing.T) {
	met := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for _, name := range spec.Names {
				if capName.MatchString(name.Name) {
					met[filepath.Dir(file)+" "+name.Name] = true
				}
			}
			return false
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(met)) {
		if caps[name] == "" {
			t.Errorf("%s: say in caps what follows where it is reached", name)
		}
	}
	for name := range caps {
		if !met[name] {
			t.Errorf("%s is no limit any more", name)
		}
	}
}
