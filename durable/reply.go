package durable

import (
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

// replies are what could not be sent to the server for want of a connection: acknowledgements, and jobs handed back.
type replies struct {
	mu      sync.Mutex
	waiting []func() error
}

// reply sends an acknowledgement. Without a connection it is kept until sendReplies, and that is no error.
func (q *Queue) reply(send func() error) error {
	err := send()
	if !errors.Is(err, nats.ErrReconnectBufExceeded) {
		return err
	}
	q.replies.mu.Lock()
	defer q.replies.mu.Unlock()
	q.replies.waiting = append(q.replies.waiting, send)
	return nil
}

// sendReplies sends what was kept.
func (q *Queue) sendReplies() {
	q.replies.mu.Lock()
	waiting := q.replies.waiting
	q.replies.waiting = nil
	q.replies.mu.Unlock()
	for _, send := range waiting {
		if err := q.reply(send); err != nil {
			q.config.Logger.Warn("an acknowledgement could not be sent", "queue", q.config.Name, "error", err)
		}
	}
}
