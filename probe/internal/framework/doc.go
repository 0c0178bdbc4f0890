// Package framework reads the frameworks and CUDA extensions in Python environments: what they were built with, their
// machine code, and what prevents their import.
package framework
