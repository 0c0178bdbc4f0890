//go:build !linux

package host

import "errors"

func exchange(string, string) error { return errors.ErrUnsupported }
