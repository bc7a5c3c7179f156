// Package adapters shows, as compiled examples, how a backoff or a policy is used where another library takes one: each
// is a line or a few, so there is nothing to import.
//
//	go test -v ./examples/adapters
package adapters
