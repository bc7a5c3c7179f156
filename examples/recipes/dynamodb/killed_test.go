package dynamodb_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the sequence number of each record.
func program(ctx context.Context, e *killed.Effects, _ []string) error {
	at := ""
	if err := e.Start(&at); err != nil {
		return err
	}
	shard := (&service{fault: func(context.Context, int) error { return nil }}).shard()
	return killed.Follow(ctx, e, 12, shard.Follow(at, time.Millisecond, time.Second, policy), func(n int) (int, any) { return n, shard.Sequence(n) })
}

func TestFollow_Killed(t *testing.T) { killed.Check(t, 5, 2, 1, 12, false) }
