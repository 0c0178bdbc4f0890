// Package loader follows what the dynamic linker maps for a framework or an extension, and records what is missing or
// does not fit.
package loader
