package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"cudacompat/internal/deadline"
	"cudacompat/internal/usage"
)

// Save writes a file atomically: nobody sees half of it, and a failure leaves the old one. It follows symbolic links.
// It writes to anything but a regular file (/dev/stderr, a pipe) for as long as ctx lasts, and never replaces it. In a
// directory such as /tmp it neither follows nor replaces what another user has put there.
func Save(ctx context.Context, name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if !deadline.CanAbandon() {
		return saveBytes(ctx, name, b.Bytes())
	}
	_, err := deadline.Run(ctx, func() (struct{}, error) { return struct{}{}, saveBytes(ctx, name, b.Bytes()) })
	if late := new(deadline.Error); errors.As(err, &late) {
		return &deadline.Error{Err: fmt.Errorf("cannot write %q: the time was up", name), Hint: "give another file, or more --timeout"}
	}
	return err
}

// saveBytes writes a file as save does.
func saveBytes(ctx context.Context, name string, data []byte) error {
	if why := explainPlanted(name); why != "" {
		return &usage.Error{Message: fmt.Sprintf("cannot write %q: %s", name, why), Hint: "give a file in a directory that others cannot write"}
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		_, err := deadline.Run(ctx, func() (struct{}, error) { return struct{}{}, writeInto(name, data) })
		if late := new(deadline.Error); errors.As(err, &late) { // not errLate: nobody reads what is cut short either
			return &usage.Error{Message: fmt.Sprintf("cannot write %q: nobody read it in time", name), Hint: "let something read it, or give more --timeout"}
		}
		return explainUnwritable(name, err)
	}
	target, err := followLinks(name)
	if err != nil {
		return explainUnwritable(name, err)
	}
	return explainUnwritable(name, replaceFile(target, data))
}

// followLinks returns the file that a name refers to after all symbolic links, whether or not the file exists.
func followLinks(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	for range 40 { // as many links as Linux follows
		dir, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil {
			return "", err
		}
		name = filepath.Join(dir, filepath.Base(name))
		target, err := os.Readlink(name)
		if err != nil {
			return name, nil // no link, or nothing yet
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		name = target
	}
	return "", errors.New("too many levels of symbolic links")
}

// explainPlanted says why a file is not written because of what another user put into a directory that everybody can write: a
// symbolic link (as the kernel refuses with fs.protected_symlinks), the file itself (fs.protected_regular), or a pipe,
// whose reader would get the report (fs.protected_fifos). It returns "" if there is none.
func explainPlanted(name string) string {
	rest, err := filepath.Abs(name)
	if err != nil {
		return ""
	}
	volume := filepath.VolumeName(rest)
	dir := volume + string(filepath.Separator)
	rest = strings.TrimPrefix(rest, dir)
	for links := 0; rest != "" && links < 40; {
		first, others, _ := strings.Cut(rest, string(filepath.Separator))
		place := filepath.Join(dir, first)
		info, err := os.Lstat(place)
		if err != nil {
			return ""
		}
		link := info.Mode()&fs.ModeSymlink != 0
		if (link || others == "" && !info.IsDir()) && isPutByOthers(dir, info) {
			kind := "a file"
			switch {
			case link:
				kind = "a symbolic link"
			case info.Mode()&fs.ModeNamedPipe != 0:
				kind = "a pipe"
			}
			return fmt.Sprintf("%q is %s of another user in a directory that everybody can write", place, kind)
		}
		dir, rest = place, others
		if !link {
			continue
		}
		links++
		target, err := os.Readlink(place)
		if err != nil {
			return ""
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(place), target)
		}
		dir = volume + string(filepath.Separator)
		rest = strings.TrimPrefix(filepath.Join(target, others), dir)
	}
	return ""
}

// explainUnwritable says which file could not be written and why.
func explainUnwritable(name string, err error) error {
	if err == nil {
		return nil
	}
	return &usage.Error{Message: fmt.Sprintf("cannot write %q: %v", name, usage.StripPath(err)),
		Hint: "give a file in a directory that is there and may be written to"}
}

func writeInto(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// replaceFile replaces a file and keeps its mode and owner. A new file gets the mode that the caller's umask allows.
func replaceFile(name string, data []byte) error {
	old, err := os.Stat(name)
	mode := fs.FileMode(0o666)
	if err == nil {
		mode = 0o600 // until it is the old one's
	}
	f, err := createTemporary(filepath.Dir(name), mode)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if old != nil {
		mode = old.Mode().Perm()
		if !keepOwner(f, old) {
			mode &^= 0o070 // it was for another group
		}
		err = errors.Join(err, f.Chmod(mode))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// createTemporary creates a file that nobody else has. os.CreateTemp ignores the umask.
func createTemporary(dir string, mode fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(dir, fmt.Sprintf(".cudacompat-%d", rand.Uint64()))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
