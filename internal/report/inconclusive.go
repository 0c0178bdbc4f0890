package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/logs"
	"cudacompat/internal/report/layout"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// FindOpenFact returns the missing fact that leaves the verdict open: that of a build that counts, otherwise of a
// requirement. It returns nil if there was nothing to compare. For a package with an unknown CUDA it prefers a rule's
// question, which says more.
func FindOpenFact(r Report) *verdict.Missing {
	open := decidingFact(r)
	if open == nil || !strings.HasPrefix(open.Fact, "which CUDA the package is built for") {
		return open
	}
	for i, u := range r.Unknown {
		if u.Subject == open.Subject && u.Target == open.Target && u.Rule != open.Rule {
			return &r.Unknown[i]
		}
	}
	return open
}

// decidingFact returns the first missing fact that decides.
func decidingFact(r Report) *verdict.Missing {
	i := slices.IndexFunc(r.Unknown, func(u verdict.Missing) bool { return DecidesOutcome(r, u) && u.Why != "" })
	if i < 0 { // what the file itself leaves open goes before what flags supply
		i = slices.IndexFunc(r.Unknown, func(u verdict.Missing) bool { return DecidesOutcome(r, u) })
	}
	if i < 0 {
		return nil
	}
	return &r.Unknown[i]
}

// DecidesOutcome reports whether a missing fact leaves the outcome open.
func DecidesOutcome(r Report, u verdict.Missing) bool {
	if u.Rule == "required-missing" || u.Rule == "not-looked-at" {
		return true
	}
	return slices.ContainsFunc(r.Answers, func(a verdict.BuildAnswer) bool {
		return a.Answer == verdict.Unknown && a.Counts && a.Subject == u.Subject && a.Target == u.Target &&
			slices.Contains(a.Because, u.Rule)
	})
}

// ExplainInconclusive says in one sentence what could not be judged, or that there was nothing to judge.
func ExplainInconclusive(r Report) string {
	u := FindOpenFact(r)
	if there := FindParts(r); u == nil && there.Driver && there.GPU && there.Build && len(r.Unknown) > 0 {
		u = &r.Unknown[0] // of a package beside a build that works
	}
	switch there := FindParts(r); {
	case u == nil && r.Log != nil && r.Log.Blame != logs.Unknown:
		return layout.LowerFirst(strings.TrimSuffix(r.Log.Because, ".")) + " (only the log says so)"
	case u == nil:
		return ExplainNothingCompared(r)
	case len(r.Facts.Probes) > 0 && !there.Driver && !there.GPU && u.Flag == "--driver":
		return "found no GPU and no driver to judge " + cmp.Or(u.Of, u.Subject) + " for"
	case u.Rule == "required-missing":
		return fmt.Sprintf("cannot tell whether there is %s, which is required: %s", article(u.Subject), u.Missing)
	case u.Rule == "not-looked-at" && !u.Question:
		return notLookedAt(*u)
	}
	return "cannot judge " + cmp.Or(u.Of, u.Subject) + ": " + DescribeMissing(*u)
}

// unexplained begins the sentence about an error in a text whose cause no rule knows.
const unexplained = "nothing that was compared explains it: "

// notLookedAt says in one clause what was not read, and why.
func notLookedAt(u verdict.Missing) string {
	if cause, ok := strings.CutPrefix(u.Missing, unexplained); ok {
		return "nothing that was compared explains the error in the text (" + layout.LowerFirst(cause) + ")"
	}
	return fmt.Sprintf("cannot judge %s: %s", strings.ReplaceAll(u.Subject, ": ", ", "), u.Missing)
}

// DescribeMissing says in a clause which fact is missing, and the flag that supplies it: "the driver's version is
// unknown (add --driver)", "it is unknown whether an IOMMU stands between the GPUs".
func DescribeMissing(u verdict.Missing) string {
	switch {
	case u.Why != "" && u.Fact == "":
		return u.Why
	case u.Why != "":
		return u.Why + ", so it is unknown " + u.Fact
	case u.Question && u.Flag != "":
		return "it is unknown " + u.Fact + " (add " + u.Flag + ")"
	case u.Question:
		return "it is unknown " + u.Fact
	case u.Flag == "--gpu":
		return "no GPU was found to compare it with (add --gpu)"
	case u.Flag == "--driver":
		return "no driver version was found or given (add --driver)"
	case u.Fact != "":
		return u.Fact + " is unknown"
	}
	return u.Missing
}

// article returns a requirement's name with its article.
func article(name string) string {
	if name == "efa" {
		return "an EFA adapter"
	}
	return "a " + name
}

// Parts says which of the three things of a comparison exist. Two are needed for a comparison.
type Parts struct{ Driver, GPU, Build bool }

// FindParts returns which of the three things a report has.
func FindParts(r Report) Parts {
	there := Parts{Build: len(r.Answers) > 0}
	for _, j := range r.Judged {
		there.Driver = there.Driver || j.Driver != "" || j.CUDA != ""
		there.GPU = there.GPU || len(j.GPUs) > 0
	}
	return there
}

// ExplainNothingCompared says what is there and what is missing, so that there was nothing to compare.
func ExplainNothingCompared(r Report) string {
	var has, lacks []string
	there := FindParts(r)
	for _, part := range []struct {
		name, absent string
		there        bool
	}{{"driver", "driver", there.Driver}, {"GPU", "GPU", there.GPU},
		{"build", "PyTorch, TensorFlow or JAX", there.Build}} {
		if part.there {
			has = append(has, "the "+part.name)
		} else {
			lacks = append(lacks, "no "+part.absent)
		}
	}
	switch {
	case len(has) == 0:
		return "nothing to compare: found no driver, no GPU and no PyTorch, TensorFlow or JAX"
	case len(lacks) == 2 && there.Build && allWork(r):
		return "found no driver and no GPU to judge; " + describeIndependent(r)
	case len(lacks) == 0:
		return "nothing could be compared"
	}
	return fmt.Sprintf("nothing to compare %s with: found %s", strings.Join(has, " and "), strings.Join(lacks, " and ")) + suggestBuild(r, there)
}

// suggestBuild says how to name a build if only that is missing. plaintext says it for a driver and a GPU.
func suggestBuild(r Report, there Parts) string {
	switch {
	case !there.Driver || !there.GPU || there.Build:
		return ""
	case len(r.Facts.Probes) > 0 && !ArePasted(r.Facts.Probes):
		return " (add --env PATH)"
	}
	return " (add a release, such as torch==" + exampleTorch + ")"
}

// exampleTorch is the release in hints.
const exampleTorch = "2.9.0"

// allWork reports whether every build works. Without a driver and a GPU only CPU builds do.
func allWork(r Report) bool {
	return !slices.ContainsFunc(r.Answers, func(a verdict.BuildAnswer) bool { return a.Answer != verdict.Works })
}

// describeIndependent says that the builds need neither a driver nor a GPU.
func describeIndependent(r Report) string {
	if len(r.Answers) == 1 {
		return r.Answers[0].About.Words() + " works without them"
	}
	return "the builds work without them"
}

// ArePasted reports whether everything known was pasted and nothing was read from a machine.
func ArePasted(probes []facts.Status) bool {
	return len(probes) > 0 && !slices.ContainsFunc(probes, func(s facts.Status) bool {
		return s.Name != "nvidia-smi" && s.Name != "collect-env"
	})
}

// ExampleDriver is the release in hints, from a branch that NVIDIA maintains. ExampleWindowsDriver is one of its releases
// for Windows.
const (
	ExampleDriver        = "580.95.05"
	ExampleWindowsDriver = "581.57"
)
