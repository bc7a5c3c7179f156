package embedded_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// refuses opens the queue and wants it to fail with an error of that kind that has all those words.
func refuses(t *testing.T, c durable.Config, kind error, words ...string) {
	t.Helper()
	if c.Name == "" {
		c.Name = "q"
	}
	q, err := durable.Open(t.Context(), c)
	if err == nil {
		q.Close()
		t.Error("Open succeeds")
		return
	}
	t.Log(err)
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("got %v, want it to match %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %q, want it to say %q", err, w)
		}
	}
}

func TestAnUnreachableServer(t *testing.T) {
	t.Parallel()
	url := "nats://user:secret@127.0.0.1:" + freePort(t)
	refuses(t, durable.Config{URL: url}, durable.ErrUnreachable, "connection refused", "is the server running", "127.0.0.1")
	_, err := durable.Open(t.Context(), durable.Config{URL: url, Name: "q"})
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the password: %v", err)
	}
}

func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0), embedded.Options(func(o *server.Options) { o.Username, o.Password = "me", "right" }))
	refuses(t, durable.Config{URL: srv.URL()}, durable.ErrRefused, "check user, password")
	refuses(t, durable.Config{URL: srv.URL(), NATS: []nats.Option{nats.UserInfo("me", "wrong")}}, durable.ErrRefused)
	q := open(t, durable.Config{URL: srv.URL(), NATS: []nats.Option{nats.UserInfo("me", "right")}})
	put(t, q, "")
}

func TestMissingPermissions(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0), embedded.Options(func(o *server.Options) {
		o.Users = []*server.User{{Username: "me", Password: "pw", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"elsewhere"}}}}}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := durable.Open(ctx, durable.Config{URL: srv.URL(), Name: "q", NATS: []nats.Option{nats.UserInfo("me", "pw")}})
	if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "$JS.API") {
		t.Errorf("got %v", err)
	}
}

// What the error says a user needs is enough.
func TestEnoughPermissions(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0), embedded.Options(func(o *server.Options) {
		o.Users = []*server.User{{Username: "me", Password: "pw", Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"$JS.API.>", "$JS.ACK.>", "retrywhen.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}}}}
	}))
	q := open(t, durable.Config{URL: srv.URL(), NATS: []nats.Option{nats.UserInfo("me", "pw")}, Policy: crashPolicy})
	put(t, q, "", durable.PutID("job"))
	stop := work(t, q, 1, func(context.Context, *durable.Job) error { return errors.New("no") })
	eventually(t, "the queue is empty", isEmpty(t, q))
	stop()
	if err := q.Revive(t.Context(), "job"); err != nil {
		t.Error(err)
	}
	if err := q.Delete(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAServerWithoutJetStream(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) { o.JetStream = false }))
	refuses(t, durable.Config{Server: srv}, durable.ErrUnreachable, "nats-server -js")
}

func TestAnotherConfiguration(t *testing.T) {
	t.Parallel()
	srv := start(t)
	nc, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, _ := jetstream.New(nc)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "retrywhen-foreign", Subjects: []string{"theirs"}, MaxMsgs: 5}); err != nil {
		t.Fatal(err)
	}
	refuses(t, durable.Config{Server: srv, Name: "foreign"}, durable.ErrOtherConfig,
		"retrywhen-foreign", "retention is Limits, want WorkQueue", "subjects is [theirs], want", "maximal messages is 5, want 0")
	refuses(t, durable.Config{Server: srv, Name: "foreign", Update: true}, durable.ErrOtherConfig, "the server cannot change it")

	open(t, durable.Config{Server: srv, Name: "ours"})
	open(t, durable.Config{Server: srv, Name: "ours"})
	refuses(t, durable.Config{Server: srv, Name: "ours", Lease: 5 * time.Second, Duplicates: 2 * time.Minute}, durable.ErrOtherConfig,
		"AckWait (Config.Lease) is 30s, want 5s", "Config.Update")
	refuses(t, durable.Config{Server: srv, Name: "ours", KeepDead: time.Hour, Duplicates: time.Minute}, durable.ErrOtherConfig,
		"Config.Duplicates) is 2m0s, want 1m0s")
	changed := durable.Config{Server: srv, Name: "ours", Lease: 5 * time.Second, KeepDead: time.Hour, Duplicates: time.Minute, Update: true}
	put(t, open(t, changed), "")
	changed.Update = false
	open(t, changed)
	refuses(t, durable.Config{Server: srv, Name: "ours3", Replicas: 3}, durable.ErrRefused, "needs a cluster")
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	srv := start(t)
	for _, c := range []durable.Config{
		{Name: "q"},
		{Name: "q", URL: "nats://127.0.0.1", Server: srv},
		{Name: "a.b", Server: srv},
		{Name: strings.Repeat("x", 65), Server: srv},
		{Name: "q", Server: srv, Replicas: 6},
		{Name: "q", Server: srv, Replicas: -1},
		{Name: "q", Server: srv, Lease: time.Millisecond},
		{Name: "q", Server: srv, Grace: -1},
		{Name: "q", Server: srv, KeepDead: time.Millisecond},
		{Name: "q", Server: srv, Duplicates: time.Second},
		{Name: "q", Server: srv, MaxDeliveries: 1},
	} {
		refuses(t, c, nil, "durable: open: Config")
	}
}

// The server has no room left: Put says so, nothing that was stored is lost, and there is room again when jobs are done.
func TestAFullStore(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.MaxStore(4<<20))
	q := open(t, durable.Config{Server: srv})
	stored := 0
	var err error
	for ; stored < 100; stored++ {
		if _, err = q.Put(t.Context(), make([]byte, 100<<10)); err != nil {
			break
		}
	}
	t.Log(stored, err)
	if !errors.Is(err, durable.ErrFull) || !strings.Contains(err.Error(), "free disk space") {
		t.Errorf("got %v", err)
	}
	work(t, q, 1, func(context.Context, *durable.Job) error { return nil })
	eventually(t, "the queue is empty", isEmpty(t, q))
	if s, err := q.Stats(t.Context()); err != nil || s.Done != int64(stored) {
		t.Errorf("got %v, %v, want %d done", s, err, stored)
	}
	put(t, q, "there is room again")
}

// RETRYWHEN_SMALL_DISK is a folder on a file system of its own, with some 20 MB of room: a tmpfs will do.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("RETRYWHEN_SMALL_DISK")
	if folder == "" {
		t.Skip("RETRYWHEN_SMALL_DISK is not set")
	}
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(folder, "store")
	defer os.RemoveAll(dir)
	srv, err := embedded.Start(dir, embedded.MaxStore(1<<30)) // so that the disk is full before the limit is reached
	if err != nil {
		t.Fatal(err)
	}
	q := open(t, durable.Config{Server: srv})
	stored := 0
	for ; stored < 1000; stored++ {
		if _, err = q.Put(t.Context(), make([]byte, 100<<10)); err != nil {
			break
		}
	}
	t.Log(stored, err)
	if !errors.Is(err, durable.ErrFull) || !errors.Is(err, durable.ErrNotStored) || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	q.Close()
	srv.Close()
	os.Remove(ballast)
	if srv, err = embedded.Start(dir, embedded.MaxStore(1<<30)); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	q = open(t, durable.Config{Server: srv})
	work(t, q, 1, func(context.Context, *durable.Job) error { return nil })
	eventually(t, "the queue is empty", isEmpty(t, q))
	// The job that was refused may have been stored, when room came.
	if s, err := q.Stats(t.Context()); err != nil || s.Done < int64(stored) || s.Done > int64(stored)+1 {
		t.Errorf("got %v, %v, want %d done", s, err, stored)
	}
}

func TestAQueueThatIsDeletedEndsWork(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, durable.Config{Server: srv})
	nc, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, _ := jetstream.New(nc)
	ended := make(chan error, 1)
	begun := make(chan struct{})
	put(t, q, "")
	go func() {
		ended <- q.Work(t.Context(), 1, func(context.Context, *durable.Job) error { close(begun); return nil })
	}()
	<-begun
	if err := js.DeleteStream(t.Context(), "retrywhen-q"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, durable.ErrGone) {
		t.Errorf("got %v", err)
	}
}

func TestAConnectionThatIsClosedEndsWork(t *testing.T) {
	t.Parallel()
	nc, err := start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	q := open(t, durable.Config{Conn: nc})
	put(t, q, "")
	ended := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		ended <- q.Work(t.Context(), 1, func(context.Context, *durable.Job) error { close(begun); return nil })
	}()
	<-begun
	nc.Close()
	if err := <-ended; !errors.Is(err, durable.ErrClosed) {
		t.Errorf("Work: %v", err)
	}
	if _, err := q.Put(t.Context(), nil); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("Put: %v", err)
	}
	refuses(t, durable.Config{Conn: nc}, durable.ErrClosed)
}

func TestPutWaitsForAServerThatComesBack(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	q := open(t, durable.Config{URL: "nats://127.0.0.1:" + port})
	put(t, q, "", durable.PutID("before"))
	server.kill()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	_, err := q.Put(ctx, nil, durable.PutID("during"))
	cancel()
	if !errors.Is(err, durable.ErrNotStored) || !strings.Contains(err.Error(), "put it again with the same id") {
		t.Errorf("while the server is away: %v", err)
	}
	stored := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := q.Put(ctx, nil, durable.PutID("during"))
		stored <- err
	}()
	spawn(t, "server", dir, port)
	if err := <-stored; err != nil {
		t.Errorf("when it is back: %v", err)
	}
	eventually(t, "both are ready", isReady(t, q, 2))
}

func TestTLSAndCredentialsPassThrough(t *testing.T) {
	t.Parallel()
	certificate, pool := selfSigned(t)
	srv := start(t, embedded.Listen(0), embedded.Options(func(o *server.Options) {
		o.TLS, o.TLSConfig = true, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		o.Authorization = "token"
	}))
	url := "tls://" + strings.TrimPrefix(strings.TrimPrefix(srv.URL(), "nats://"), "tls://")
	refuses(t, durable.Config{URL: url}, nil, "certificate")
	secure := nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})
	refuses(t, durable.Config{URL: url, NATS: []nats.Option{secure}}, durable.ErrRefused)
	q := open(t, durable.Config{URL: url, NATS: []nats.Option{secure, nats.Token("token")}})
	put(t, q, "")
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv, err := embedded.Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	if url := srv.URL(); url != "" {
		t.Errorf("it listens on %s, want nothing", url)
	}
	if _, err := embedded.Start(dir); err == nil || !strings.Contains(err.Error(), "another server uses it") {
		t.Errorf("a second server in the folder: %v", err)
	}
	q := open(t, durable.Config{Server: srv})
	put(t, q, "kept")
	q.Close()
	srv.Close()
	srv.Close() // twice does no harm
	again, err := embedded.Start(dir, embedded.SyncAlways(), embedded.Listen(0))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if u, err := url.Parse(again.URL()); err != nil || u.Hostname() != "127.0.0.1" || len(u.User.Username()) < 26 {
		t.Errorf("it listens on %q, %v, want 127.0.0.1 with a token", again.URL(), err)
	}
	q = open(t, durable.Config{URL: again.URL()})
	eventually(t, "the job that was put before is ready", isReady(t, q, 1))
	put(t, q, "synced")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", file, filepath.Join(file, "below")} {
		if _, err := embedded.Start(bad); err == nil || !strings.HasPrefix(err.Error(), "embedded: start") {
			t.Errorf("in %q: %v", bad, err)
		} else {
			t.Log(err)
		}
	}
	if _, err := embedded.Start(t.TempDir(), nil); err == nil {
		t.Error("a nil option is taken")
	}
}
