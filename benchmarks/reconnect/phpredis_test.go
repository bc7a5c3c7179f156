package reconnect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

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

// A reply that ends after the length of a value is waited for on the next connection.
func TestPHPRedis_Amid(t *testing.T) {
	needs(t, "php", "-r", "new Redis();")
	for reply, patience := range map[string]time.Duration{"*1\r\n*2\r\n$4\r\nn": 5 * time.Minute, "*1\r\n*2\r\n$4\r\n": 10 * time.Second} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		run := prove.Run{Addr: l.Addr().String(), Name: "name"}
		go func() { ended <- script("php", "programs/stream.php")(ctx, run, nil) }()
		first, err := l.Accept()
		must(t, err)
		_, err = first.Write([]byte(reply))
		must(t, errors.Join(err, first.(*net.TCPConn).CloseWrite())) // and not Close, which might reset the connection before the reply is read
		second, err := l.Accept()
		must(t, err)
		must(t, second.SetReadDeadline(time.Now().Add(patience)))
		if n, _ := second.Read(make([]byte, 100)); (n > 0) != (patience > time.Minute) {
			t.Errorf("after %q the client sends %d bytes on the next connection", reply, n)
		}
		cancel()
		must(t, errors.Join(<-ended, first.Close(), second.Close(), l.Close()))
	}
}

const phpRedisFile = "phpredis/phpredis/blob/5.3.7/library.c"
