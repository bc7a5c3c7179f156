package embedded_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/durable"
)

// The handler gets the headers that Put has taken, and whatever they are, the queue goes on.
func TestHeaders(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{})
	refused := 0
	for _, header := range [][3]string{
		{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "second"}, {"a", "", "x\ty"}, {"A", "ä☃", "\"quoted\""}, {"!#$%&'*+-.^_`|~", "x:y", "\xff"},
		{"Status", "400", ""}, {"Description", "no", ""}, {"status", "400", "503"}, {"é", "x", ""}, {"x(y)", "x", ""}, {"x\x00y", "x", ""}, {"a", " x", "x "}, {"a", "x\x00", "x\x7f"},
		{"Nats-Msg-Id", "x", ""}, {"retrywhen-due", "x", ""}, {"Content-Length", "7", ""}, {"a", "x\u0085", "\u00a0x"}, {"a", "x\vy", "\u2028"},
	} {
		name, value, second := header[0], header[1], header[2]
		id, err := q.Put(t.Context(), nil, durable.PutHeader(name, value), durable.PutHeader(name, second), durable.PutHeader("last", "x"))
		if err != nil {
			refused++
			continue
		}
		for job, err := range q.Jobs().Take(1).All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			want := map[string][]string{"last": {"x"}, name: {value, second}}
			if job.ID != id || !maps.EqualFunc(job.Header, want, slices.Equal) {
				t.Errorf("got %q, want %q", job.Header, want)
			}
			if err := job.Done(); err != nil {
				t.Error(err)
			}
		}
	}
	if refused != 12 {
		t.Errorf("%d were refused", refused)
	}
}
