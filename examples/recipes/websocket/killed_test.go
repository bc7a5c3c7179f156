package websocket_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/websocket"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the id of each event.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := 0
	e.Start(&at)
	return killed.Follow(ctx, e, 1000, websocket.Events(nil, args[0], at, silence, proxy.Policy, nil), func(v websocket.Event) (int, any) { return v.ID, v.ID })
}

func TestEvents_Killed(t *testing.T) {
	var connections atomic.Int64
	server := feed(t, &connections, func(int64) int { return 0 })
	killed.Check(t, "WebSocket", 10, 75, 1000, "0", "ws"+strings.TrimPrefix(server.URL, "http"))
}
