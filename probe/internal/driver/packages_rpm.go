package driver

import (
	"bytes"
	"fmt"
	"io"
	"path"

	"cudacompat/internal/rpmdb"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// rpmDirs is where RPM keeps its database: mostly the first, which may be a link to the second (Fedora 36, SUSE); the
// third on systems that are updated as a whole.
var rpmDirs = []string{"/var/lib/rpm", "/usr/lib/sysimage/rpm", "/usr/share/rpm"}

// rpmFiles are its names by form: SQLite, ndb, Berkeley DB.
var rpmFiles = []string{"rpmdb.sqlite", "Packages.db", "Packages"}

// rpmPackages reads what RPM has installed of NVIDIA's.
func rpmPackages(h *host.Host, failed *host.Errors) []facts.DriverPackage {
	for _, dir := range rpmDirs {
		for _, name := range rpmFiles {
			file := path.Join(dir, name)
			list, err := readRPM(h, file)
			if host.Absent(err) {
				continue
			}
			failed.Add(err)
			packages := ofInterest(list, file)
			if len(packages) > maxPackages {
				failed.Add(errManyPackages)
				packages = packages[:maxPackages]
			}
			return packages
		}
	}
	return nil
}

func ofInterest(list []rpmdb.Package, file string) []facts.DriverPackage {
	var packages []facts.DriverPackage
	for _, p := range list {
		if interesting(p.Name) {
			packages = append(packages, facts.DriverPackage{Name: p.Name, Version: p.Version, From: file})
		}
	}
	return packages
}

// readRPM lists the packages of one database. What was installed last may stand in the write-ahead log beside it; a
// journal of the older kind means that a change broke off in the middle.
func readRPM(h *host.Host, file string) ([]rpmdb.Package, error) {
	db, err := h.Open(file)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	info, err := db.Stat()
	if err != nil {
		return nil, host.Damaged(file, host.Plain(err).Error())
	}
	if journal := h.ReadQuietly(file + "-journal"); bytes.HasPrefix(journal,
		[]byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")) {
		return nil, fmt.Errorf("%s: an rpm command broke off in the middle of a change; sudo rpm -qa on that system repairs it", file)
	}
	var log io.ReaderAt
	wal, err := h.Open(file + "-wal")
	if err != nil && !host.Absent(err) {
		return nil, fmt.Errorf("the newest packages are in a log: %w", err)
	}
	if err == nil {
		defer wal.Close()
		log = wal
	}
	list, err := rpmdb.Read(db, info.Size(), log)
	if err != nil {
		err = host.Damaged(file, err.Error())
	}
	return list, err
}
