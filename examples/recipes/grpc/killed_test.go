package grpc_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/grpc"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the token of each event.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := ""
	e.Start(&at)
	return killed.Follow(ctx, e, 1000, grpc.Watch(dial(args[0]), watch, at, silence, policy), func(v *structpb.Struct) (int, any) {
		return int(v.GetFields()["n"].GetNumberValue()), v.GetFields()["token"].GetStringValue()
	})
}

func TestWatch_Killed(t *testing.T) {
	killed.Check(t, "gRPC", 10, 75, 1000, "0", serve(t, func(int64) error { return nil }))
}
