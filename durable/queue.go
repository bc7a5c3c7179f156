package durable

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Queue is a durable queue of jobs. It is safe for concurrent use. Any number of Queues with the same name, in any
// number of processes, are the same queue.
type Queue struct {
	*attempts
	keeper
	close func() error
}

func newQueue(c Config, nc *nats.Conn) *Queue {
	h := &holder{backend: &backend{config: c, nc: nc}}
	h.began = time.Now()
	o := &outcomes{holder: h}
	o.bound.backend = h.backend
	q := &Queue{attempts: &attempts{outcomes: o}, keeper: keeper{h: h, feeds: make(map[*feed]struct{})}}
	q.close = sync.OnceValue(q.shutDown)
	q.turns = newTurns()
	return q
}
