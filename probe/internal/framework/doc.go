// Package framework reads the frameworks and CUDA extensions of Python environments: what they were built with, the code
// in them, and what keeps them from being imported.
package framework
