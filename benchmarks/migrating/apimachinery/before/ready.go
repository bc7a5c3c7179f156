package before

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

func Ready(ctx context.Context, check func(context.Context) (done bool, err error)) error {
	b := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 6}
	return wait.ExponentialBackoffWithContext(ctx, b, check)
}
