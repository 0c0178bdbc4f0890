//go:build !unix

package config

import "io/fs"

const nonblocking = 0

// ownerTrusted reports true: lists of access rights say whose a file is here, not its mode.
func ownerTrusted(fs.FileInfo) bool { return true }

func worldWritable(fs.FileInfo) bool { return false }
