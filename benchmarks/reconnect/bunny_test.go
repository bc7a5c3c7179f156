package reconnect

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/retrywhen/retrywhen/prove"
)

// startBunny needs Debian's rabbitmq-server and ruby-bunny.
func startBunny(t *testing.T) prove.Target {
	needs(t, "ruby", "-r", "bunny", "-e", "")
	all, _ := filepath.Glob("/usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server") // the one in the path changes its user
	if len(all) == 0 {
		t.Skip("there is no RabbitMQ")
	}
	address, folder := free(t), t.TempDir()
	_, port, _ := net.SplitHostPort(address)
	_, names, _ := net.SplitHostPort(free(t))
	_, nodes, _ := net.SplitHostPort(free(t))
	for name, value := range map[string]string{
		"HOME": folder, "RUNNING_UNDER_SYSTEMD": "yes", // so that the script becomes the node
		"ERL_EPMD_PORT": names, "RABBITMQ_NODENAME": "bunny@localhost", "RABBITMQ_DIST_PORT": nodes,
		"RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": port, "RABBITMQ_CONFIG_FILE": filepath.Join(folder, "none"),
		"RABBITMQ_MNESIA_BASE": filepath.Join(folder, "data"), "RABBITMQ_LOG_BASE": folder,
		"RABBITMQ_ENABLED_PLUGINS_FILE": filepath.Join(folder, "plugins"), "RABBITMQ_FEATURE_FLAGS_FILE": filepath.Join(folder, "flags"),
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() { _ = exec.Command("epmd", "-port", names, "-kill").Run() }) // the node has started it
	var connection *amqp.Connection
	begin(t, func() (err error) {
		connection, err = amqp.Dial("amqp://guest:guest@" + address)
		return err
	}, all[0])
	t.Cleanup(func() { _ = connection.Close() })
	publisher, err := connection.Channel()
	must(t, err)
	var mu sync.Mutex
	return prove.Target{
		Server:      address,
		AtLeastOnce: true,
		Parallel:    24,
		Before: func(_ context.Context, r prove.Run) error {
			mu.Lock()
			defer mu.Unlock()
			_, err := publisher.QueueDeclare(r.Name, true, false, false, false, nil)
			return err
		},
		Event: func(ctx context.Context, r prove.Run, n int) error {
			return publisher.PublishWithContext(ctx, "", r.Name, false, false, amqp.Publishing{Body: fmt.Append(nil, "event ", n)})
		},
		Client: script("ruby", "programs/consumer.rb"),
	}
}

var bunnySubject = realSubject{
	"ruby-amqp/bunny v2.19.0, a consumer",
	"Debian's, in Ruby, with RabbitMQ: a durable queue, an acknowledgement of each message, a heartbeat of 4 s in place of 60, and a read timeout of 10 s in place of 30. Each message is expected at least once.",
	startBunny,
	map[prove.Kind]string{
		prove.GaveUp: "The first connection is not retried. " + link("session.rb:342", bunnyFiles+"session.rb#L342"),
		prove.Away: "A connection that ends within a frame's header is an unexpected error, after which nothing connects again. " +
			link("transport.rb:263", bunnyFiles+"transport.rb#L263") + ", " + link("reader_loop.rb:55", bunnyFiles+"reader_loop.rb#L55"),
	},
}

const bunnyFiles = "ruby-amqp/bunny/blob/2.19.0/lib/bunny/"
