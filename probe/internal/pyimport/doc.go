// Package pyimport determines whether Python can import a package: it follows the imports in its sources and compares
// the files that these load with what was installed. It imports nothing.
package pyimport
