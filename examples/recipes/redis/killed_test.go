package redis_test

import (
	"context"
	"testing"

	client "github.com/redis/go-redis/v9"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program has the effect of an entry before it is acknowledged.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	db := client.NewClient(options(args[0]))
	defer db.Close()
	entries := consume(db, func(_ context.Context, entry client.XMessage) error {
		e.Apply(nil, number(entry))
		return nil
	})
	return entries.TakeWhile(func(string) bool { return len(e.Counts()) < 500 }).ForEach(ctx, func(string) {})
}

func TestConsume_Killed(t *testing.T) {
	killed.Check(t, "redis Streams", 10, 40, 500, "10 or more", serve(t, 500))
}
