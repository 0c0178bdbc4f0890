// Package loader follows what the dynamic linker maps for a framework or an extension, and which of it is missing or
// does not serve.
package loader
