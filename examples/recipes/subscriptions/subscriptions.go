// Package subscriptions keeps one WebSocket connection for many topics that are subscribed and left while it is
// connected. The topics and their positions are one value, outside of the connection: each attempt reads it, and a
// change is a message on the present connection. (A SwitchMap from the changes to a Resume starts each topic over.)
package subscriptions

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Event is an event of a topic; their IDs ascend. It bears the number of its subscription. One without is a heartbeat.
type Event struct {
	Subscription int    `json:"subscription,omitempty"`
	Topic        string `json:"topic,omitempty"`
	ID           int    `json:"id,omitempty"`
}

// message asks the server for the events of a topic after an ID, or for no more.
type message struct {
	Subscribe string `json:"subscribe,omitempty"`
	Leave     string `json:"leave,omitempty"`
	Number    int    `json:"number"`
	After     int    `json:"after,omitempty"`
}

// Topics are the topics that are subscribed, each with the ID of the last event that was taken. It is safe for
// concurrent use.
type Topics struct {
	mu      sync.Mutex
	last    int // the number of the last subscription
	now     map[string]message
	changed chan struct{} // closed by the next change of the topics
}

// Subscribe adds a topic, whose events come after the one with the ID after. If it is there already, nothing changes.
func (t *Topics) Subscribe(topic string, after int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, is := t.now[topic]; is {
		return
	}
	if t.now == nil {
		t.now = map[string]message{}
	}
	t.last++
	t.now[topic] = message{Subscribe: topic, Number: t.last, After: after}
	t.change()
}

// Leave removes a topic. Events of it that are under way are dropped.
func (t *Topics) Leave(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.now, topic)
	t.change()
}

// change reports a change to the present connection. The caller holds t.mu.
func (t *Topics) change() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// next returns the messages after which a connection with the subscriptions sent has those of t, updates sent, and
// returns the channel that the next change closes.
func (t *Topics) next(sent map[string]int) (messages []message, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic, number := range sent {
		if t.now[topic].Number != number {
			messages = append(messages, message{Leave: topic, Number: number})
			delete(sent, topic)
		}
	}
	for topic, m := range t.now {
		if sent[topic] == 0 {
			messages = append(messages, m)
			sent[topic] = m.Number
		}
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return messages, t.changed
}

// at reports whether an event is of a topic that is subscribed, and moves its position if the event was taken.
func (t *Topics) at(e Event, taken bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, is := t.now[e.Topic]
	is = is && m.Number == e.Subscription
	if is && taken {
		m.After = e.ID
		t.now[e.Topic] = m
	}
	return is
}

// send sends what is to be subscribed and no longer, until ctx ends or a message cannot be sent.
func (t *Topics) send(ctx context.Context, conn *websocket.Conn) {
	for sent := map[string]int{}; ; {
		messages, changed := t.next(sent)
		for _, m := range messages {
			if wsjson.Write(ctx, conn, m) != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Events returns the events of the topics. An attempt fails if nothing comes within silence, not even a heartbeat. A
// position moves when the consumer has taken the event.
func (t *Topics) Events(client *http.Client, url string, silence time.Duration, policy stream.RetryHandler) stream.Stream[Event] {
	heartbeat := func(e Event) bool { return e.Subscription == 0 }
	var connection stream.Stream[Event] = func(ctx context.Context, yield func(Event) bool) error {
		conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client})
		if err != nil && response != nil {
			return retryhttp.NewStatusError(response) // dictates Retry-After
		}
		if err != nil {
			return err
		}
		defer conn.CloseNow()
		ctx, stop := context.WithCancel(ctx)
		var writer sync.WaitGroup
		writer.Go(func() {
			defer stop() // ends the reading if a message cannot be sent
			t.send(ctx, conn)
		})
		defer writer.Wait()
		defer stop()
		for {
			var e Event
			if err := wsjson.Read(ctx, conn, &e); err != nil {
				return err
			}
			if (heartbeat(e) || t.at(e, false)) && !yield(e) {
				return nil
			}
		}
	}
	feed := connection.Timeout(silence).DropHeartbeats(heartbeat)
	return stream.Stream[Event](func(ctx context.Context, yield func(Event) bool) error {
		return feed(ctx, func(e Event) bool {
			more := yield(e)
			t.at(e, more)
			return more
		})
	}).RetryWhen(policy)
}
