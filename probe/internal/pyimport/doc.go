// Package pyimport finds out whether Python can import a package: it follows the imports of its sources and compares the
// files that these load with what was installed. Nothing is imported.
package pyimport
