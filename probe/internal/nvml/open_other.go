//go:build !unix

package nvml

// openNodes does nothing: only other systems have device nodes.
func openNodes() map[string]string { return nil }

func openHere(open func() map[string]string) map[string]string { return open() }
