package exec

import _ "embed" // for the shim

// shim is the Python program that serves module:attribute over the line protocol.
//
//go:embed shim.py
var shim string
