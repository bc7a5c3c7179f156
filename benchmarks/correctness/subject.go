package main

import (
	"context"
	"errors"
	"time"
)

// The figures of all cases.
const (
	base    = time.Second
	most    = 30 * time.Second // the cap, where there is one
	noCap   = time.Duration(1<<63 - 1)
	pause   = 10 * time.Second // one wait
	retries = 5                // the limit, where there must be one
	draws   = 1_000_000
	delays  = 70
)

var errBoom = errors.New("boom")

// operation makes attempts until one returns nil or the library gives up, and returns what the library returns.
type operation func(ctx context.Context, attempt func(context.Context) error) error

// subject is one library, or one way to use it. A nil field is a case that does not apply.
type subject struct {
	name   string
	module string // the module whose version is shown

	// doubling returns the waits of 1 s × 2 without a cap and without jitter.
	doubling func(n int) []time.Duration
	// jitter names the jitter of capped.
	jitter string
	// capped returns waits of 1 s × 2 with a cap of 30 s and the jitter, all of them at the cap.
	capped func(n int) []time.Duration
	// constant is an operation that waits 10 s before each retry.
	constant operation
	// shared makes one policy of 1 s × 2 and 3 retries, and returns the operation that uses it.
	shared func() operation

	doublingAt, cappedAt, constantAt, sharedAt []place
}

// place is a line of a module's code, or an issue.
type place struct {
	file, text string // the first line of the file that contains the text
	module     string // the module, if it is not the subject's
	issue      string // owner/repository#number
}

func at(file, text string) place             { return place{file: file, text: text} }
func in(module, file, text string) place     { return place{module: module, file: file, text: text} }
func issue(repositoryAndNumber string) place { return place{issue: repositoryAndNumber} }

const (
	retrywhenModule = "github.com/retrywhen/retrywhen"
	backoff4Module  = "github.com/cenkalti/backoff/v4"
	backoff7Module  = "github.com/cenkalti/backoff/v7"
	avastModule     = "github.com/avast/retry-go/v5"
	failsafeModule  = "github.com/failsafe-go/failsafe-go"
	sethvargoModule = "github.com/sethvargo/go-retry"
	k8sModule       = "k8s.io/apimachinery"
	roModule        = "github.com/samber/ro"
	ciliumModule    = "github.com/cilium/stream"
	rxgoModule      = "github.com/reactivex/rxgo/v2"
)

func subjects() []subject {
	return []subject{
		ours(), stream(), handWritten(),
		cenkalti(), avast(), avastFullJitter(), avastLastError(), failsafeGo(), sethvargo(), sethvargoOtherOrder(), k8s(),
		samber(), cilium(), rx(),
	}
}

// times calls f n times.
func times(n int, f func() time.Duration) []time.Duration {
	d := make([]time.Duration, n)
	for i := range d {
		d[i] = f()
	}
	return d
}
