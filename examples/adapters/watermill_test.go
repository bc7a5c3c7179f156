package adapters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// retrying returns a middleware for Watermill's router: router.AddMiddleware(retrying(policy)).
func retrying(p retry.Policy) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			return retry.Do(m.Context(), p, func(context.Context) ([]*message.Message, error) { return h(m) })
		}
	}
}

func Example_watermill() {
	policy := retry.New(backoff.Exponential(time.Millisecond, 2).Jitter(jitter.Full), retry.Limit(3))
	calls := 0
	handler := retrying(policy)(func(m *message.Message) ([]*message.Message, error) {
		if calls++; calls < 3 {
			return nil, errors.New("the database is locked")
		}
		fmt.Printf("%s after %d calls\n", m.Payload, calls)
		return nil, nil
	})
	_, err := handler(message.NewMessage("1", []byte("order 17")))
	fmt.Println(err)
	// Output:
	// order 17 after 3 calls
	// <nil>
}
