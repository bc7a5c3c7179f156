package postgres_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/postgres"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the position with each event.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	var at postgres.Event
	e.Start(&at)
	return killed.Follow(ctx, e, 500, postgres.Events(args[0], at, poll, proxy.Policy), func(v postgres.Event) (int, any) {
		n, _ := strconv.Atoi(v.Body)
		return n, v
	})
}

func TestEvents_Killed(t *testing.T) {
	server := debian.StartPostgres(t)
	server.Connect(t, postgres.Schema)
	url := server.URL(server.Address)
	written := make(chan error, 1)
	go func() { written <- write(t.Context(), url, 1, 500) }()
	killed.Check(t, "Postgres, LISTEN/NOTIFY", 10, 40, 500, "0", url)
	if err := <-written; err != nil {
		t.Error(err)
	}
}
