package durable

import (
	"context"
	"sync"
	"time"
)

// NewJob is one of the jobs of PutAll: what is given to Put, or to PutAt if At is not zero.
type NewJob struct {
	Data    []byte
	At      time.Time
	Options []PutOption
}

// PutResult is what Put returns for one of the jobs of PutAll.
type PutResult struct {
	ID  string
	Err error
}

// putsAtOnce is how many Puts of a PutAll wait for the server at a time.
const putsAtOnce = 64

// PutAll puts jobs without waiting for one before the next is sent, and returns what has become of each, in their
// order. They may be stored in another order, and those that are stored are, whatever becomes of the others.
func (q *Queue) PutAll(ctx context.Context, jobs []NewJob) []PutResult {
	results := make([]PutResult, len(jobs))
	var all sync.WaitGroup
	next := make(chan int)
	for range min(putsAtOnce, len(jobs)) {
		all.Go(func() {
			for i := range next {
				results[i].ID, results[i].Err = q.PutAt(ctx, jobs[i].At, jobs[i].Data, jobs[i].Options...)
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	all.Wait()
	return results
}
