package reconnect

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/nsqio/go-nsq"
	"github.com/nsqio/nsq/nsqd"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// realDocuments are what the documents of these clients say of what was found.
var realDocuments = map[string]map[prove.Kind]string{
	"etcd/client/v3 v3.7.3, Watch without keepalive": {prove.Silent: "Documented: it is an option, DialKeepAliveTime"},
	"lib/pq v1.12.3, Listener with Ping":             {prove.Silent: `Promised otherwise: Ping is "to make sure it's alive"`},
}

// byChance are findings that are not made each time, and are no failure.
var byChance = map[string]prove.Known{
	phpRedisSubject.name: {Kind: prove.Lost, Where: "amid", Why: "If a connection has ended after a value's length, the value is read from the next one, which is asked for nothing. " +
		link("library.c:607", phpRedisFile+"#L607") + ", `-run TestPHPRedis_Amid`"},
}

// realSubject is a client of a real server.
type realSubject struct {
	name, promises string
	start          func(t *testing.T) prove.Target
	notes          map[prove.Kind]string
}

var realSubjects = []realSubject{
	{
		"etcd/client/v3 v3.7.3, Watch",
		"With DialKeepAliveTime, DialKeepAliveTimeout and PermitWithoutStream; the watch begins at a revision. Watch promises to \"retry on other recoverable errors forever until reconnected\": each key is expected once.",
		startEtcd(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second, PermitWithoutStream: true}),
		map[prove.Kind]string{},
	},
	{
		"etcd/client/v3 v3.7.3, Watch without keepalive",
		"The same with the default Config.",
		startEtcd(keepalive.ClientParameters{}),
		map[prove.Kind]string{
			prove.Silent: "Without DialKeepAliveTime gRPC does not look whether the other side is there. [config.go:48](https://github.com/etcd-io/etcd/blob/client/v3.7.3/client/v3/config.go#L48)",
		},
	},
	{
		"lib/pq v1.12.3, Listener with Ping",
		"A Listener \"automatically re-establishes the connection\". As its example once did, the table is read after each notification, up to its row, and after each reconnect (nil); Ping every 90 s, here every 5 s, and without reading the table then, so that the Listener alone is judged. Rows are expected once.",
		startPostgres,
		map[prove.Kind]string{
			prove.Silent: point("pq", 1, link("notify.go:347", pqFile+"#L347")),
			prove.Late:   point("pq", 1, link("notify.go:636", pqFile+"#L636")),
		},
	},
	{
		"nsqio/go-nsq v1.1.0, a Consumer with nsqd v1.3.0",
		"ConnectToNSQD, with a heartbeat each second, a ReadTimeout of 3 s, a LookupdPollInterval of 2 s, and a MsgTimeout of 5 s in nsqd, in place of 30, 60, 60 and 60 s. NSQ delivers at least once and in any order: repeated values are allowed, lost ones are not.",
		startNSQ,
		map[prove.Kind]string{
			prove.Open: point("go-nsq", 0, link("conn.go:221", "nsqio/go-nsq/blob/v1.1.0/conn.go#L221"), link("consumer.go:585", "nsqio/go-nsq/blob/v1.1.0/consumer.go#L585")),
		},
	},
	{
		"k8s.io/client-go v0.37.2, a shared informer over TCP",
		"An informer with the dynamic client, over HTTP/2 with TLS, against a server in the test that lists and watches, and says 410 Gone to a watch that begins more than 4 versions back. HTTP2_READ_IDLE_TIMEOUT_SECONDS is 5 and HTTP2_PING_TIMEOUT_SECONDS is 3, in place of 30 and 15. Each object is expected to be added once, and in any order, as \"there is no promise about ordering between states seen for different objects\".",
		startKubernetes,
		map[prove.Kind]string{},
	},
	discordSubject,
	pahoPythonSubject,
	reconnectingWebSocketSubject,
	phpRedisSubject,
	bunnySubject,
}

// must fails the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRealTime needs servers of Debian's, and a minute or two for each client. It logs what is found, and why.
func TestRealTime(t *testing.T) {
	nightly(t)
	var rows strings.Builder
	for _, s := range realSubjects {
		t.Run(s.name, func(t *testing.T) {
			target := s.start(t)
			for kind, note := range s.notes {
				target.Known = append(target.Known, prove.Known{Kind: kind, Why: note})
			}
			target.OnFinding = func(prove.Finding) {} // below
			report := reconnecttest.CheckTCP(t, target)
			rows.WriteString(row("TestRealTime", s.name, report))
			t.Log(s.promises)
			for _, f := range report.Findings {
				note := f.Known
				if k := byChance[s.name]; f.Kind == k.Kind && strings.Contains(f.Where, k.Where) {
					note = k.Why
				} else if note == "" {
					t.Errorf("%s: %s", f.Kind, f)
				}
				f.Known, f.Mend = "", ""
				t.Logf("%s: %s\n  %s%s\n%s", f.Kind, short(f.String()), note, sentence(realDocuments[s.name][f.Kind]), strings.Join(f.Timeline, "\n"))
			}
		})
	}
	writeRows(t, inRealTime, rows.String())
}

// free returns a free address.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// begin starts a server and waits until ready returns nil.
func begin(t *testing.T, ready func() error, program string, args ...string) {
	t.Helper()
	if path, err := exec.LookPath(program); err != nil {
		t.Skip("there is no ", program)
	} else {
		program = path
	}
	c := exec.Command(program, args...)
	must(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	err := errors.New("not asked")
	for end := time.Now().Add(5 * time.Minute); err != nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		err = ready()
	}
	must(t, err)
}

func startEtcd(alive keepalive.ClientParameters) func(t *testing.T) prove.Target {
	return func(t *testing.T) prove.Target {
		address, peers := free(t), "http://"+free(t)
		connect := func(address string) (*clientv3.Client, error) {
			config := clientv3.Config{Endpoints: []string{address}, DialTimeout: 5 * time.Second}
			if alive.Time > 0 {
				config.DialKeepAliveTime, config.DialKeepAliveTimeout, config.PermitWithoutStream = alive.Time, alive.Timeout, true
			}
			config.DialOptions = []grpc.DialOption{grpc.WithNoProxy()}
			return clientv3.New(config)
		}
		writer, err := connect(address)
		must(t, err)
		t.Cleanup(func() { _ = writer.Close() })
		begin(t, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := writer.Get(ctx, "x")
			return err
		}, "etcd", "--data-dir", t.TempDir(), "--listen-client-urls", "http://"+address, "--advertise-client-urls", "http://"+address,
			"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)
		return prove.Target{
			Server: address,
			Event: func(ctx context.Context, r prove.Run, n int) error {
				_, err := writer.Put(ctx, fmt.Sprintf("%s/%02d", r.Name, n), "")
				return err
			},
			Client: func(ctx context.Context, r prove.Run, got func(string)) error {
				client, err := connect(r.Addr)
				if err != nil {
					return err
				}
				defer func() { _ = client.Close() }()
				for response := range client.Watch(ctx, r.Name, clientv3.WithPrefix(), clientv3.WithRev(1)) {
					for _, e := range response.Events {
						got(strings.TrimPrefix(string(e.Kv.Key), r.Name))
					}
				}
				if ctx.Err() != nil {
					return nil
				}
				return errors.New("the channel was closed")
			},
		}
	}
}

func startPostgres(t *testing.T) prove.Target {
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bins) == 0 {
		t.Skip("there is no PostgreSQL")
	}
	bin := slices.Max(bins)
	folder, err := os.MkdirTemp("/tmp", "pg") // a socket's path is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	as := func(args ...string) []string { return args }
	if os.Getuid() == 0 {
		if out, err := exec.Command("chown", "postgres", folder).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		as = func(args ...string) []string { return append([]string{"runuser", "-u", "postgres", "--"}, args...) }
	}
	data := filepath.Join(folder, "data")
	initdb := as(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
	if out, err := exec.Command(initdb[0], initdb[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address := free(t)
	_, port, _ := net.SplitHostPort(address)
	dsn := func(address string) string {
		return "postgres://postgres@" + address + "/postgres?sslmode=disable&connect_timeout=5"
	}
	db, err := sql.Open("postgres", dsn(address))
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	server := as(filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-h", "127.0.0.1", "-k", folder, "-c", "fsync=off", "-c", "max_connections=300")
	begin(t, db.Ping, server[0], server[1:]...)
	t.Cleanup(func() {
		_ = exec.Command(as(filepath.Join(bin, "pg_ctl"))[0], as(filepath.Join(bin, "pg_ctl"), "-D", data, "-m", "immediate", "stop")[1:]...).Run()
	})
	return prove.Target{
		Server:   address,
		Parallel: 32,
		Before: func(ctx context.Context, r prove.Run) error {
			_, err := db.ExecContext(ctx, "create table "+r.Name+" (id serial primary key, name text)")
			return err
		},
		Event: func(ctx context.Context, r prove.Run, n int) error {
			_, err := db.ExecContext(ctx, fmt.Sprintf("insert into %[1]s (name) values ('event %[2]d'); notify %[1]s, 'event %[2]d'", r.Name, n))
			return err
		},
		Client: func(ctx context.Context, r prove.Run, got func(string)) error {
			return listen(ctx, dsn(r.Addr), db, r.Name, got)
		},
	}
}

// listen is the example of the package's documentation. The rows are read over a connection that does not break, up to
// the one that the notification names: a late one must not read what was inserted during a silence.
func listen(ctx context.Context, dsn string, rows *sql.DB, table string, got func(string)) error {
	listener := pq.NewListener(dsn, 100*time.Millisecond, 5*time.Second, nil)
	defer func() { _ = listener.Close() }()
	listening := make(chan error, 1)
	go func() { listening <- listener.Listen(table) }()
	last := 0
	read := func(n *pq.Notification) error {
		found, err := rows.QueryContext(ctx, fmt.Sprintf("select id, name from %[1]s where id > %[2]d and id <= coalesce((select max(id) from %[1]s where name = '%[3]s'), 1e9) order by id",
			table, last, cmp.Or(n, new(pq.Notification)).Extra))
		if err != nil {
			return err
		}
		defer func() { _ = found.Close() }()
		for found.Next() {
			var name string
			if err := found.Scan(&last, &name); err != nil {
				return err
			}
			got(name)
		}
		return found.Err()
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case err = <-listening:
			if listening = nil; err == nil {
				err = read(nil)
			}
		case n := <-listener.Notify:
			err = read(n)
		case <-time.After(5 * time.Second):
			go func() { _ = listener.Ping() }()
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func startNSQ(t *testing.T) prove.Target {
	options := nsqd.NewOptions()
	options.TCPAddress, options.HTTPAddress, options.BroadcastAddress = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1"
	options.HTTPSAddress, options.DataPath, options.MsgTimeout = "", t.TempDir(), 5*time.Second
	options.Logger = log.New(io.Discard, "", 0)
	server, err := nsqd.New(options)
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Main() }()
	t.Cleanup(func() { server.Exit(); <-served })
	return prove.Target{
		Server:      server.RealTCPAddr().String(),
		AtLeastOnce: true,
		AnyOrder:    true,
		Event: func(ctx context.Context, r prove.Run, n int) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://%s/pub?topic=%s", server.RealHTTPAddr(), r.Name), strings.NewReader(fmt.Sprintf("event %d", n)))
			if err != nil {
				return err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			return response.Body.Close()
		},
		Client: func(ctx context.Context, r prove.Run, got func(string)) error {
			config := nsq.NewConfig()
			config.HeartbeatInterval, config.ReadTimeout, config.LookupdPollInterval = time.Second, 3*time.Second, 2*time.Second
			consumer, err := nsq.NewConsumer(r.Name, "channel", config)
			if err != nil {
				return err
			}
			consumer.SetLogger(nil, nsq.LogLevelError)
			consumer.AddHandler(nsq.HandlerFunc(func(m *nsq.Message) error {
				got(string(m.Body))
				return nil
			}))
			for err := consumer.ConnectToNSQD(r.Addr); err != nil; err = consumer.ConnectToNSQD(r.Addr) {
				if ctx.Err() != nil {
					return nil
				}
				time.Sleep(100 * time.Millisecond) // the first connection is the caller's
			}
			<-ctx.Done()
			consumer.Stop()
			<-consumer.StopChan
			return nil
		},
	}
}
