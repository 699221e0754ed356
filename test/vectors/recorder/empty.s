// Lets the compiler accept functions without a body: go:linkname gives them the bodies of unexported functions.
