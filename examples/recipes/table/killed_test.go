package table_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/table"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the position with each row.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	var at table.Position
	e.Start(&at)
	rows := table.Rows(args[0], at, 5*time.Millisecond, 100*time.Millisecond, 2*time.Second, proxy.Policy)
	return killed.Follow(ctx, e, 500, rows, func(r table.Row) (int, any) { return int(r.ID), r.Position })
}

func TestRows_Killed(t *testing.T) {
	server := debian.StartPostgres(t)
	server.Connect(t, table.Schema+"; INSERT INTO rows (id, body) SELECT id, 'x' FROM generate_series(1, 500) id")
	killed.Check(t, "Postgres, a table", 10, 40, 500, "0", server.URL(server.Address)) // all have one time
}
