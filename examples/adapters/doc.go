// Package adapters has examples of a backoff or a policy in other libraries. Each needs only a few lines, so there is
// no package to import.
//
//	go test -v ./examples/adapters
package adapters
