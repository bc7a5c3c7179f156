package embedded_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// putterPermissions are the permissions in docs/durable.md for a process that only puts jobs.
var putterPermissions = []string{"retrywhen.q.job.*.first", "retrywhen.q.job.*.later", "$JS.API.STREAM.INFO.retrywhen-q", "$JS.API.CONSUMER.INFO.retrywhen-q.*",
	"$JS.API.STREAM.MSG.GET.retrywhen-q"}

// With its few permissions, a process can put jobs and can neither take nor end them.
func TestTheFewPermissionsOfAPutter(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) {
		o.Users = []*server.User{user("worker", workerPermissions...), user("putter", putterPermissions...)}
	}))
	worker := open(t, connect(t, srv, as("worker")...), durable.Config{})
	nc := connect(t, srv, as("putter")...)
	q := open(t, nc, durable.Config{})
	put(t, q, "", durable.PutID("a"))
	put(t, q, "")
	if _, err := q.Put(t.Context(), nil, durable.PutID("a")); !errors.Is(err, durable.ErrExists) {
		t.Errorf("put again: %v", err)
	}
	if _, err := q.PutAt(t.Context(), time.Now().Add(time.Hour), nil, durable.PutID("later")); err != nil {
		t.Error(err)
	}
	if err := nc.LastError(); err != nil {
		t.Errorf("the server has refused something: %v", err)
	}
	if err := q.Cancel(t.Context(), "later"); !errors.Is(err, durable.ErrRefused) {
		t.Errorf("Cancel: %v, want ErrRefused", err)
	}
	work(t, worker, 1, func(context.Context, *durable.Job) error { return nil })
	eventually(t, "the worker has done both", func() bool { return worker.Counts().Done == 2 })
}

// A user cannot read another user's jobs on their way to its inbox, nor take another queue's jobs.
func TestAUserCannotReadAnothersInbox(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) {
		o.Users = []*server.User{user("me", workerPermissions...), user("spy", "retrywhen.other.job.*.*")}
	}))
	spy := connect(t, srv, as("spy")...)
	for _, subject := range []string{"_INBOX.>", "_INBOX_me.>", ">", "retrywhen.q.>"} {
		before := spy.LastError()
		sub, err := spy.SubscribeSync(subject)
		if err == nil {
			err = spy.Flush()
		}
		if refused := spy.LastError(); !errors.Is(refused, nats.ErrPermissionViolation) || refused == before || !strings.Contains(refused.Error(), subject) {
			t.Errorf("%s: %v, %v, %v, want a refusal", subject, sub, err, refused)
		}
	}
	if _, err := durable.Open(timeout(t, time.Second), spy, durable.Config{Name: "q"}); !errors.Is(err, durable.ErrRefused) {
		t.Errorf("it opens the queue: %v", err)
	}
}

func timeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A server without the routes' credentials cannot join the cluster.
func TestAServerWithoutCredentialsCannotJoin(t *testing.T) {
	t.Parallel()
	node := func(name string, cluster server.ClusterOpts, routes ...*url.URL) *embedded.Server {
		cluster.Name, cluster.Host, cluster.Port = "jobs", "127.0.0.1", -1
		return start(t, embedded.Listen(0), embedded.Options(func(o *server.Options) { o.ServerName, o.Cluster, o.Routes, o.JetStream = name, cluster, routes, false }))
	}
	first := node("n1", server.ClusterOpts{Username: "route", Password: "secret"})
	address := first.NATS().ClusterAddr().String()
	thief := node("thief", server.ClusterOpts{}, &url.URL{Scheme: "nats", Host: address})
	guest := node("guest", server.ClusterOpts{Username: "route", Password: "guess"}, &url.URL{Scheme: "nats", Host: address, User: url.UserPassword("route", "guess")})
	second := node("n2", server.ClusterOpts{Username: "route", Password: "secret"}, &url.URL{Scheme: "nats", Host: address, User: url.UserPassword("route", "secret")})
	// At the other end, a connection counts as a route until it is refused.
	joined := func() (names []string) {
		routes, err := first.NATS().Routez(nil)
		must(t, err)
		for _, r := range routes.Routes {
			names = append(names, r.RemoteName)
		}
		return names
	}
	eventually(t, "the second server has joined", func() bool { return slices.Contains(joined(), second.NATS().Name()) })
	time.Sleep(200 * time.Millisecond)
	if names := joined(); slices.Contains(names, thief.NATS().Name()) || slices.Contains(names, guest.NATS().Name()) {
		t.Errorf("others have joined: %v", names)
	}
}

// The configuration in docs/durable.md can be read, and protects clients and routes.
func TestTheDocumentedConfiguration(t *testing.T) {
	t.Parallel()
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	text, err := os.ReadFile("../../docs/durable.md")
	must(t, err)
	_, block, _ := strings.Cut(string(text), "```\n# nats.conf on n1\n")
	block, _, found := strings.Cut(block, "```")
	config, err := conf.Parse(block)
	if err != nil || !found {
		t.Fatalf("%v", err)
	}
	cluster, _ := config["cluster"].(map[string]any)
	for _, key := range []string{"authorization", "tls", "routes"} {
		if cluster[key] == nil {
			t.Errorf("cluster has no %s", key)
		}
	}
	if config["tls"] == nil || config["authorization"] == nil {
		t.Error("clients need no TLS or no authorization")
	}
	for _, subject := range append(workerPermissions, putterPermissions...) {
		if name := strings.NewReplacer("retrywhen.q.", "retrywhen.mail.", "retrywhen-q", "retrywhen-mail").Replace(subject); !strings.Contains(string(text), name) {
			t.Errorf("the permission %s is not documented", name)
		}
	}
}

func TestListenRequiresAToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	port, _ := strconv.Atoi(freePort(t))
	srv, err := embedded.Start(dir, embedded.Listen(port))
	must(t, err)
	defer srv.Close()
	put(t, open(t, srv.URL(), durable.Config{}), "by the URL")
	put(t, open(t, srv, durable.Config{}), "in the process")
	u, err := url.Parse(srv.URL())
	must(t, err)
	for _, other := range []string{u.Host, "another@" + u.Host} {
		if nc, err := nats.Connect(other); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v, %v", other, nc, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v, want it for its owner alone", info.Mode(), err)
	}

	before := srv.URL()
	srv.Close()
	again, err := embedded.Start(dir, embedded.Listen(port))
	must(t, err)
	defer again.Close()
	if again.URL() != before {
		t.Error("the URL has changed after a restart")
	}
	if other := start(t, embedded.Listen(0)); other.URL()[:40] == before[:40] {
		t.Error("two folders have the same token")
	}
}

func TestOptionsReplaceTheToken(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*server.Options){
		"a password": func(o *server.Options) { o.Username, o.Password = "me", "pw" },
		"a user":     func(o *server.Options) { o.Users = []*server.User{{Username: "me", Password: "pw"}} },
		"a token":    func(o *server.Options) { o.Authorization = "mine" },
		"nothing":    func(o *server.Options) { o.Authorization = "" },
	} {
		srv := start(t, embedded.Options(change), embedded.Listen(0)) // in any order
		u, err := url.Parse(srv.URL())
		if err != nil || u.User != nil {
			t.Errorf("%s: the URL is %v, %v, want one without a token", name, u, err)
		}
		credentials := map[string]nats.Option{"a token": nats.Token("mine"), "nothing": nats.Name("any")}[name]
		if credentials == nil {
			credentials = nats.UserInfo("me", "pw")
		}
		open(t, connect(t, srv.URL(), credentials), durable.Config{})
		nc, err := srv.Connect(credentials)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		nc.Close()
	}
}
