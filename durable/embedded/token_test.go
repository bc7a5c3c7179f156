package embedded_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

func TestListenRequiresAToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	port, _ := strconv.Atoi(freePort(t))
	srv, err := embedded.Start(dir, embedded.Listen(port))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	put(t, open(t, srv.URL(), durable.Config{}), "by the URL")
	put(t, open(t, srv, durable.Config{}), "in the process")
	u, err := url.Parse(srv.URL())
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
