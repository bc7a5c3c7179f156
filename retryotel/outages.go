package retryotel

import (
	"context"
	"sync"
	"time"
)

// outages are the present outages of the operations of one name.
type outages struct {
	mu    sync.Mutex
	begun map[*time.Time]struct{}
}

// begin records an outage that begins. It returns a function that records its end.
func (o *outages) begin(context.Context, error) (over func()) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun == nil {
		o.begun = map[*time.Time]struct{}{}
	}
	o.begun[&now] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.begun, &now)
	}
}

// since returns when the longest present outage began, the zero time if there is none.
func (o *outages) since() (first time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for at := range o.begun {
		if first.IsZero() || at.Before(first) {
			first = *at
		}
	}
	return first
}
