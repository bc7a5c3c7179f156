package embedded_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/doccode"
)

func TestTheDocumentsCodeCompiles(t *testing.T) {
	t.Parallel()
	const module = "github.com/retrywhen/retrywhen"
	code := doccode.Code{
		Imports: map[string]string{
			"context": "context", "errors": "errors", "log": "log", "time": "time", "nats": "github.com/nats-io/nats.go",
			"backoff": module + "/backoff", "jitter": module + "/jitter", "operators": module + "/operators", "retry": module + "/retry",
			"os": "os", "signal": "os/signal", "syscall": "syscall",
			"stream": module + "/stream", "durable": module + "/durable", "embedded": module + "/durable/embedded",
		},
		Given: map[string]string{
			"err":         "var err error",
			"ctx":         "var ctx = context.Background()",
			"policy":      "var policy = retry.Default",
			"letter":      "var letter []byte",
			"password":    "var password string",
			"nc":          "var nc *nats.Conn",
			"traceparent": "var traceparent string",
			"handler":     "func handler(context.Context, *durable.Job) error { return nil }",
			"folder":      "var folder string",
			"Row":         "type Row struct{ ID int64 }",
			"rowsAfter":   "func rowsAfter(int64) stream.Stream[Row] { return stream.Empty[Row]() }",
			"copyRow":     "func copyRow(context.Context, Row) error { return nil }",
			"night":       "func night(time.Time) bool { return false }",
			"q":           "var q *durable.Queue",
			"send":        "func send(context.Context, string, []byte) error { return nil }",
		},
	}
	if err := code.Vet("../../docs/durable.md"); err != nil {
		t.Error(err)
	}
}
