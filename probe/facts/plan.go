package facts

// Plan is what an installer says that it would do to an environment: the output of its dry run.
type Plan struct {
	By       string    `json:"by"`       // "uv", "pip", "conda", "poetry"
	Path     string    `json:"path"`     // the environment, where the plan says it, as it says it
	Removes  []Planned `json:"removes"`  // what goes, what is replaced included
	Installs []Planned `json:"installs"` // what comes, what replaces included
}

// Planned is one distribution that a plan removes or installs.
type Planned struct {
	Name    string `json:"name"`    // normalised as pip does, "nvidia-nccl-cu12"
	Version string `json:"version"` // empty where the plan does not say it
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

// Removed is the release of a distribution that a plan takes away; ok is false where it leaves it.
func (p *Plan) Removed(name string) (version string, ok bool) {
	for _, r := range p.Removes {
		if r.Name == name {
			return r.Version, true
		}
	}
	return "", false
}
