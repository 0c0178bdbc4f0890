//go:build !linux

package host

func rootAt(dir string) (beneath, error) { return walk(dir) }
