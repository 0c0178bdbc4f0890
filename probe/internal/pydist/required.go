package pydist

// RequiresDist begins a requirement in METADATA.
var RequiresDist = []byte("Requires-Dist: ")
