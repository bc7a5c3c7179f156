package prove

import (
	"context"
	"time"
)

// Target is a program under test, the server that it connects to, and how it is tested.
type Target struct {
	Server string // host:port
	// Client is one run of the program: it calls got for each value that it delivers, and returns when ctx ends. It
	// returns nil or an error when it ends by itself. It is called for several runs at once.
	Client func(ctx context.Context, r Run, got func(string)) error
	// Before may be nil. It prepares what a run reads.
	Before func(ctx context.Context, r Run) error
	// Event may be nil. It makes the n-th event of a run, from 1, one each Every, from when nothing has passed on the run's
	// first connection for 300 ms, or 3 s after it was made: so a program that gets only what is new has subscribed.
	Event  func(ctx context.Context, r Run, n int) error
	Events int           // 12
	Every  time.Duration // 100 ms
	Within time.Duration // 30 s: a program that is back later is not back; stalls of a busy machine do not count
	Quiet  time.Duration // 2 s: repeated values are awaited for so long after the last value
	Stop   time.Duration // 5 s: a program returns within so long after its context's end

	Parallel    int   // 64 runs at once at most: it begins with 4 for each core, and there are more while the machine is not late
	Places      int   // connections break at so many places at most, spread evenly; 24
	Ways        []Way // all
	AtLeastOnce bool  // a repeated value is no fault
	AnyOrder    bool  // a value after later ones is no fault
	GivesUp     bool  // an end with an error is no fault
	Latest      bool  // values are states: only the last one must come
	Known       []Known

	OnFinding  func(Finding)      // may be nil. It gets each kind once, when it is certain
	OnProgress func(done, of int) // may be nil. It gets the number of scenarios that are over
}

// Run is one run of a program.
type Run struct {
	Name   string // [a-z][a-z0-9]*, all of a target's runs of one length
	Addr   string // the proxy's host:port
	Server string // the server's
}
