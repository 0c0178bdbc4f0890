//go:build !unix

package main

import (
	"io/fs"
	"os"
)

// putByOthers returns false: on this system the directory decides who may write its files.
func putByOthers(string, fs.FileInfo) bool { return false }

// keepOwner does nothing, because on this system the directory decides who may read.
func keepOwner(*os.File, fs.FileInfo) bool { return true }
