//go:build !unix

package main

import (
	"io/fs"
	"os"
)

// putByOthers reports false: a directory says who may write what is in it here.
func putByOthers(string, fs.FileInfo) bool { return false }

// keepOwner has nothing to keep where the directory says who may read.
func keepOwner(*os.File, fs.FileInfo) bool { return true }
