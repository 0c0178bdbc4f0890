package host

// Fault decides whether a reading call fails, and how: nil lets it go on. The calls are "open", "opendir", "list" (of an
// open directory), "stat", "readlink" and "resolve".
type Fault func(call, name string) error

// WithFaults returns the same host, not yet looked at, whose reading calls fail as fault says. It is for tests of what
// follows where something cannot be seen.
func (h *Host) WithFaults(fault Fault) *Host {
	h = h.Fresh()
	h.fault = fault
	return h
}

// faultyRoot is a root whose calls fail as a Fault says.
type faultyRoot struct {
	rootFS
	fault Fault
}

func (r faultyRoot) reach(name string) error {
	if err := r.fault("stat", name); err != nil {
		return err
	}
	return r.rootFS.reach(name)
}

func (r faultyRoot) resolve(name string) (string, error) {
	if err := r.fault("resolve", name); err != nil {
		return "", err
	}
	return r.rootFS.resolve(name)
}

func (r faultyRoot) readlink(name string) (string, error) {
	if err := r.fault("readlink", name); err != nil {
		return "", err
	}
	return r.rootFS.readlink(name)
}

func (r faultyRoot) open(name string) (File, error) {
	if err := r.fault("open", name); err != nil {
		return nil, err
	}
	return r.rootFS.open(name)
}

func (r faultyRoot) openDir(name string) (dir, error) {
	if err := r.fault("opendir", name); err != nil {
		return nil, err
	}
	d, err := r.rootFS.openDir(name)
	if err != nil {
		return nil, err
	}
	return faultyDir{d, name, r.fault}, nil
}

// faultyDir is an open directory whose list fails as a Fault says.
type faultyDir struct {
	dir
	name  string
	fault Fault
}

func (d faultyDir) entries(keep func([]keptEntry) error) ([]keptEntry, error) {
	if err := d.fault("list", d.name); err != nil {
		return nil, err
	}
	return d.dir.entries(keep)
}
