package reconnect

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/retrywhen/retrywhen/prove"
)

// startPHPRedis needs Debian's php-redis and redis-server.
func startPHPRedis(t *testing.T) prove.Target {
	needs(t, "php", "-r", "new Redis();")
	address := free(t)
	host, port, _ := net.SplitHostPort(address)
	begin(t, dialable(address), "redis-server", "--port", port, "--bind", host, "--save", "")
	db := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = db.Close() })
	return prove.Target{
		Server: address,
		Event: func(ctx context.Context, r prove.Run, n int) error {
			return db.XAdd(ctx, &redis.XAddArgs{Stream: r.Name, Values: []string{"event", fmt.Sprint("event ", n)}}).Err()
		},
		Client: script("php", "programs/stream.php"),
	}
}

var phpRedisSubject = realSubject{
	"phpredis/phpredis v5.3.7, XREAD",
	"Debian's, in PHP, with the backoff of its README. The program asks for what follows the last entry, and goes on after an exception. Each entry is expected once.",
	startPHPRedis,
	map[prove.Kind]string{
		prove.Hot: "A command that fails closes its connection, and the next one connects at once: the backoff is for a connection that a command finds closed. " +
			link("library.c:2453", phpRedisFile+"#L2453"),
		prove.Silent: "A read that times out within a value is begun again. " + link("library.c:618", phpRedisFile+"#L618"),
	},
}

const phpRedisFile = "phpredis/phpredis/blob/5.3.7/library.c"
