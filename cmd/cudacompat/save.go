package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// save writes a file in one piece: nobody ever sees half of it, and a failure leaves the old one. A symbolic link
// keeps pointing where it did; what is no regular file (/dev/stderr, a pipe) is written to and never replaced.
func save(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	target := name
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			return unwritable(name, pour(name, b.Bytes()))
		}
		if target, err = filepath.EvalSymlinks(name); err != nil {
			return unwritable(name, err)
		}
	}
	return unwritable(name, replace(target, b.Bytes()))
}

// unwritable says which file could not be written and why.
func unwritable(name string, err error) error {
	if err == nil {
		return nil
	}
	return &usageError{fmt.Sprintf("cannot write %q: %v", name, cause(err)),
		"give a file in a directory that is there and may be written to"}
}

// cause is why a file operation failed, without its name, which the caller has said, and without those of temporary
// files, which nobody knows.
func cause(err error) error {
	var pathError *fs.PathError
	var linkError *os.LinkError
	switch {
	case errors.As(err, &pathError):
		return pathError.Err
	case errors.As(err, &linkError):
		return linkError.Err
	}
	return err
}

func pour(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func replace(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".cudacompat-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
