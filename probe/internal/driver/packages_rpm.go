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

// rpmDirs lists where RPM keeps its database: usually the first, which may be a link to the second (Fedora 36, SUSE),
// and the third on image-based systems.
var rpmDirs = []string{"/var/lib/rpm", "/usr/lib/sysimage/rpm", "/usr/share/rpm"}

// rpmFiles lists the database's names for its three formats: SQLite, ndb, Berkeley DB.
var rpmFiles = []string{"rpmdb.sqlite", "Packages.db", "Packages"}

// rpmPackages reads which of NVIDIA's packages RPM has installed.
func rpmPackages(h *host.Host, failed *host.Errors) []facts.DriverPackage {
	for _, dir := range rpmDirs {
		for _, name := range rpmFiles {
			file := path.Join(dir, name)
			list, err := readRPM(h, file)
			if host.Absent(err) {
				continue
			}
			failed.Add(err)
			packages := interestingPackages(list, file)
			if len(packages) > maxPackages {
				failed.Add(errManyPackages)
				packages = packages[:maxPackages]
			}
			return packages
		}
	}
	return nil
}

// interestingPackages returns the interesting ones of a database's packages.
func interestingPackages(list []rpmdb.Package, file string) []facts.DriverPackage {
	var packages []facts.DriverPackage
	for _, p := range list {
		if isInteresting(p.Name) {
			packages = append(packages, facts.DriverPackage{Name: p.Name, Version: p.Version, From: file})
		}
	}
	return packages
}

// readRPM lists the packages of one database. The newest changes may still be in the write-ahead log next to it. A
// rollback journal means that a change was interrupted.
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
