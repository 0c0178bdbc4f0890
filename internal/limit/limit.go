//go:build !linux || !cgo

// Package limit ends the program with a sentence if the address space is too small for Go's runtime. Without cgo nothing
// runs before that runtime.
package limit
