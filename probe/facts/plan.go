package facts

// Plan is what an installer says it would do to an environment: the output of its dry run.
type Plan struct {
	By       string    `json:"by"`       // "uv", "pip", "conda", "poetry"
	Path     string    `json:"path"`     // the environment, where the plan says it, as it says it
	Removes  []Planned `json:"removes"`  // what goes, what is replaced included
	Installs []Planned `json:"installs"` // what comes, what replaces included
	// NoDeps says that the plan ignores the requirements of what comes, as with --no-deps: "yes", or "perhaps" if it
	// names nothing that is installed.
	NoDeps string `json:"bare,omitempty"`
	// Lacks are the requirements of what is there afterwards that it leaves open, one by one.
	Lacks []Lack `json:"lacks,omitempty"`
}

// The values of Plan.NoDeps.
const (
	NoDepsYes     = "yes"
	NoDepsPerhaps = "perhaps"
)

// Lack is a requirement that an environment does not meet after a plan, or of which nobody knows whether it does.
type Lack struct {
	Of string `json:"of"` // the distribution whose import it may be needed for, "vllm"
	// By is the distribution that requires it: Of, or one that Of requires. It is empty if the installer would also
	// have installed it without being told to ignore requirements.
	By       string `json:"by"`
	Requires string `json:"requires"` // "packaging>=21"; empty: what By requires is not known
	Have     string `json:"have"`     // the release that is there instead; empty: none is
}

// Planned is one distribution that a plan removes or installs.
type Planned struct {
	Name    string `json:"name"`    // normalised as pip does, "nvidia-nccl-cu12"
	Version string `json:"version"` // empty where the plan does not say it
	// Requires are the lines of its METADATA, if the plan has them. They are used for carrying out the plan and not
	// kept.
	Requires []string `json:"-"`
}

// Installed reports whether a plan installs some release of a distribution, and which.
func (p *Plan) Installed(name string) (version string, ok bool) {
	for _, i := range p.Installs {
		if i.Name == name {
			return i.Version, true
		}
	}
	return "", false
}

// Removed returns the release of a distribution that a plan removes. ok is false if it stays.
func (p *Plan) Removed(name string) (version string, ok bool) {
	for _, r := range p.Removes {
		if r.Name == name {
			return r.Version, true
		}
	}
	return "", false
}

// DiffRequirements compares a plan that ignores requirements with the complete plan of the same command. What only the
// complete plan installs or replaces is what this plan's distributions lack.
func (p *Plan) DiffRequirements(whole Plan) {
	p.NoDeps = ""
	for _, i := range p.Installs {
		for _, w := range whole.Installs {
			if _, comes := p.Installed(w.Name); !comes {
				have, _ := whole.Removed(w.Name)
				p.Lacks = append(p.Lacks, Lack{Of: i.Name, Requires: w.Name + " " + w.Version, Have: have})
			}
		}
	}
}
