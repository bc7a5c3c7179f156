package durable

import (
	"context"
	"sync"
	"time"
)

// NewJob holds the arguments of Put, or of PutAt if At is not zero, for one of the jobs of PutAll.
type NewJob struct {
	Data    []byte
	At      time.Time
	Options []PutOption
}

// PutResult holds the results of Put for one of the jobs of PutAll.
type PutResult struct {
	ID  string
	Err error
}

// putsAtOnce is how many Puts of a PutAll wait for the server at a time.
const putsAtOnce = 64

// PutAll puts jobs concurrently and returns one result per job, in the order of jobs. The jobs may be stored in another
// order. Each is stored or not, independently of the others.
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
