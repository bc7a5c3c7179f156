package embedded_test

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

// refuses checks that Open fails with an error that matches kind and contains all words.
func refuses(t *testing.T, server any, c durable.Config, kind error, words ...string) {
	t.Helper()
	if c.Name == "" {
		c.Name = "q"
	}
	q, err := durable.Open(t.Context(), connect(t, server), c)
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
			t.Errorf("got %q, want it to contain %q", err, w)
		}
	}
}

func TestAnUnreachableServer(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	nc := connect(t, "nats://user:secret@127.0.0.1:"+port)
	server.kill()
	eventually(t, "the connection is lost", func() bool { return !nc.IsConnected() })
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := durable.Open(ctx, nc, durable.Config{Name: "q"})
	if !errors.Is(err, durable.ErrUnreachable) || !strings.Contains(err.Error(), "is the server running") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// A client without credentials gets nats.ErrAuthorization, also inside the process.
func TestAnEmbeddedServerWithUsersRefusesByName(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) { o.Username, o.Password = "me", "right" }))
	for _, options := range [][]nats.Option{nil, {nats.UserInfo("me", "wrong")}} {
		if nc, err := srv.Connect(options...); !errors.Is(err, nats.ErrAuthorization) || strings.Contains(err.Error(), "closed pipe") {
			t.Errorf("got %v, %v, want nats.ErrAuthorization", nc, err)
		}
	}
	put(t, open(t, connect(t, srv, nats.UserInfo("me", "right")), durable.Config{}), "")
}

func TestMissingPermissions(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0), embedded.Options(func(o *server.Options) {
		o.Users = []*server.User{{Username: "me", Password: "pw", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"elsewhere"}}}}}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := durable.Open(ctx, connect(t, srv.URL(), as("me")...), durable.Config{Name: "q"})
	if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "docs/durable.md") {
		t.Errorf("got %v", err)
	}
}

// workerPermissions are the permissions in docs/durable.md for a worker of the queue q.
var workerPermissions = []string{
	"retrywhen.q.job.*.*",
	"$JS.ACK.retrywhen-q.>",
	"$JS.API.CONSUMER.MSG.NEXT.retrywhen-q.*",
	"$JS.API.CONSUMER.INFO.retrywhen-q.*",
	"$JS.API.CONSUMER.CREATE.retrywhen-q.>",
	"$JS.API.STREAM.INFO.retrywhen-q",
	"$JS.API.STREAM.MSG.GET.retrywhen-q",
	"$JS.API.STREAM.CREATE.retrywhen-q",
}

// operatorPermissions are the additional permissions for MaxDead, Revive, Forget and Delete.
var operatorPermissions = []string{"$JS.API.STREAM.PURGE.retrywhen-q", "$JS.API.STREAM.MSG.DELETE.retrywhen-q", "$JS.API.STREAM.DELETE.retrywhen-q"}

// allow makes me the server's only user, with these permissions and an inbox of its own.
func allow(publish ...string) embedded.Option {
	return embedded.Options(func(o *server.Options) { o.Users = []*server.User{user("me", publish...)} })
}

func user(name string, publish ...string) *server.User {
	return &server.User{Username: name, Password: "pw", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_" + name + ".>", "retrywhen.q.cancel"}},
		Response: &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}}}
}

// as are the options of a connection of the user.
func as(name string) []nats.Option {
	return []nats.Option{nats.UserInfo(name, "pw"), nats.CustomInboxPrefix("_INBOX_" + name)}
}

// The documented permissions are enough for a worker, and do not let it change another queue.
func TestTheNarrowPermissionsAreEnough(t *testing.T) {
	t.Parallel()
	srv := start(t, allow(workerPermissions...))
	nc := connect(t, srv, as("me")...)
	q := open(t, nc, durable.Config{Policy: crashPolicy, Lease: time.Second})
	put(t, q, "", durable.PutID("dies"))
	put(t, q, "")
	if _, err := q.PutAt(t.Context(), time.Now().Add(300*time.Millisecond), nil); err != nil {
		t.Error(err)
	}
	stop := work(t, q, 4, func(_ context.Context, job *durable.Job) error {
		if job.Attempt == 1 {
			time.Sleep(1500 * time.Millisecond) // longer than a lease
		}
		if job.ID == "dies" {
			return errors.New("no")
		}
		return nil
	})
	untilEmpty(t, q)
	if s, err := stats(t, q); err != nil || s.Done != 2 || s.Dead != 1 || s.Attempts != 6 {
		t.Errorf("got %v, %v", s, err)
	}
	if err := nc.LastError(); err != nil {
		t.Errorf("the server has refused something: %v", err)
	}
	js, err := jetstream.New(nc)
	must(t, err)
	stop()
	if _, err := durable.Open(timeout(t, 3*time.Second), nc, durable.Config{Name: "q", MaxDead: 5, Update: true}); !errors.Is(err, durable.ErrRefused) {
		t.Errorf("changing the queue: %v, want ErrRefused", err)
	}
	if err := q.Delete(timeout(t, 10*time.Second)); !errors.Is(err, durable.ErrRefused) {
		t.Errorf("deleting the queue: %v, want ErrRefused", err)
	}
	for _, stream := range []string{"retrywhen-q", "retrywhen-other"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := js.DeleteStream(ctx, stream); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(nc.LastError(), nats.ErrPermissionViolation) {
			t.Errorf("deleting %s: %v", stream, err)
		}
		cancel()
	}
}

func TestTheOperatorsPermissionsAreEnough(t *testing.T) {
	t.Parallel()
	srv := start(t, allow(append(operatorPermissions, workerPermissions...)...))
	nc := connect(t, srv, as("me")...)
	q := open(t, nc, durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0)), MaxDead: 2})
	for _, id := range []string{"a", "b", "c"} {
		put(t, q, "", durable.PutID(id))
	}
	stop := work(t, q, 1, func(context.Context, *durable.Job) error { return errors.New("no") })
	eventually(t, "all are dead", func() bool { s, err := stats(t, q); return err == nil && s.Died == 3 })
	stop()
	eventually(t, "one of them can be revived", func() bool {
		n, err := q.ReviveAll(t.Context(), func(d *durable.DeadLetter) bool { return d.ID == "c" })
		return n == 1 && err == nil
	})
	must(t, q.Forget(t.Context(), "b"))
	must(t, q.Delete(t.Context()))
	if err := nc.LastError(); err != nil {
		t.Errorf("the server has refused something: %v", err)
	}
}

func TestAServerWithoutJetStream(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) { o.JetStream = false }))
	refuses(t, srv, durable.Config{}, durable.ErrUnreachable, "nats-server -js")
}

func TestAnotherConfiguration(t *testing.T) {
	t.Parallel()
	srv := start(t)
	js, _ := jetstream.New(connect(t, srv))
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "retrywhen-foreign", Subjects: []string{"theirs"}, MaxMsgs: 5})
	must(t, err)
	refuses(t, srv, durable.Config{Name: "foreign"}, durable.ErrOtherConfig,
		"retrywhen-foreign", "retention is Limits, want WorkQueue", "subjects is [theirs], want", "maximal messages is 5, want 0")
	refuses(t, srv, durable.Config{Name: "foreign", Update: true}, durable.ErrOtherConfig, "the server cannot change it")

	open(t, srv, durable.Config{Name: "ours"})
	open(t, srv, durable.Config{Name: "ours"})
	refuses(t, srv, durable.Config{Name: "ours", Lease: 5 * time.Second}, durable.ErrOtherConfig,
		"Config.Lease is 30s, want 5s", "Config.Update")
	changed := durable.Config{Name: "ours", Lease: 5 * time.Second, Update: true}
	put(t, open(t, srv, changed), "")
	changed.Update = false
	open(t, srv, changed)
	refuses(t, srv, durable.Config{Name: "ours3", Replicas: 3}, durable.ErrRefused, "needs a cluster")
}

// The server has no room left. Put returns ErrFull, no stored job is lost, and there is room again when jobs are done.
func TestMaxStore(t *testing.T) {
	t.Parallel()
	if got := start(t, embedded.MaxStore(4<<20)).NATS().JetStreamConfig().MaxStore; got != 4<<20 {
		t.Errorf("the limit is %d, want %d", got, 4<<20)
	}
}

func TestAFullStore(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Options(func(o *server.Options) {
		if err := o.ProcessConfigString("jetstream { max_file_store: 4194304 }"); err != nil {
			t.Error(err)
		}
	}))
	q := open(t, srv, durable.Config{})
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
	untilEmpty(t, q)
	if s, err := stats(t, q); err != nil || s.Done != int64(stored) {
		t.Errorf("got %v, %v, want %d done", s, err, stored)
	}
	put(t, q, "there is room again")
}

var diskLock sync.Mutex

// smallDisk returns RETRYWHEN_SMALL_DISK, for this test alone: a folder on a separate file system of about 20 MB, such
// as a tmpfs.
func smallDisk(t *testing.T) (folder string) {
	t.Helper()
	if folder = os.Getenv("RETRYWHEN_SMALL_DISK"); folder == "" {
		t.Skip("RETRYWHEN_SMALL_DISK is not set")
	}
	diskLock.Lock()
	t.Cleanup(diskLock.Unlock)
	return folder
}

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t)
	ballast := filepath.Join(folder, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 4<<20), 0o600))
	dir := filepath.Join(folder, "store")
	defer os.RemoveAll(dir)
	srv, err := embedded.Start(dir, embedded.MaxStore(1<<30)) // so that the disk is full before the limit is reached
	must(t, err)
	q := open(t, srv, durable.Config{})
	stored := 0
	for ; stored < 1000; stored++ {
		if _, err = q.Put(t.Context(), make([]byte, 100<<10)); err != nil {
			break
		}
	}
	t.Log(stored, err)
	if !errors.Is(err, durable.ErrNotStored) || !strings.Contains(err.Error(), "its disk may be full") || srv.Err() == nil {
		t.Errorf("got %v, and of the server %v", err, srv.Err())
	}
	// Jobs are done while the disk is full. The server cannot remove all of them, but they must be removed later.
	stop := work(t, q, 2, func(context.Context, *durable.Job) error { time.Sleep(25 * time.Millisecond); return nil })
	time.Sleep(2 * time.Second) // too short for all jobs
	stop()
	done := q.Counts().Done
	q.Close()
	srv.Close()
	os.Remove(ballast)
	srv, err = embedded.Start(dir, embedded.MaxStore(1<<30))
	must(t, err)
	defer srv.Close()
	q = open(t, srv, durable.Config{})
	stop = work(t, q, 1, func(context.Context, *durable.Job) error { return nil })
	untilEmpty(t, q)
	stop()
	// The job that was refused may have been stored when there was room.
	s, err := stats(t, q)
	t.Logf("%d stored, %d done while there was no room; then %v", stored, done, s)
	if err != nil || s.Done+done < int64(stored) {
		t.Errorf("got %v, %v, want %d done", s, err, stored)
	}
	js, _ := jetstream.New(connect(t, srv))
	stream, err := js.Stream(t.Context(), "retrywhen-q")
	must(t, err)
	open(t, srv, durable.Config{}) // removes the jobs that were acknowledged and still exist
	eventually(t, "no job is left", func() bool {
		info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("retrywhen.q.job.>"))
		if err != nil {
			return false
		}
		left := slices.DeleteFunc( // marks expire
			slices.Collect(maps.Keys(info.State.Subjects)), func(s string) bool { return strings.HasSuffix(s, ".mark") })
		return len(left) == 0
	})
}

func TestPutWaitsForAServerThatComesBack(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	q := open(t, "nats://127.0.0.1:"+port, durable.Config{})
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
	// The first Put was under way when its context ended. The connection may have sent it when it was back.
	if err := <-stored; err != nil && !errors.Is(err, durable.ErrExists) {
		t.Errorf("when it is back: %v", err)
	}
	eventually(t, "both are ready", isReady(t, q, 2))
}

func TestStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv, err := embedded.Start(dir)
	must(t, err)
	if url := srv.URL(); url != "" {
		t.Errorf("it listens on %s, want nothing", url)
	}
	if _, err := embedded.Start(dir); err == nil || !strings.Contains(err.Error(), "another server uses it") {
		t.Errorf("a second server in the folder: %v", err)
	}
	q := open(t, srv, durable.Config{})
	put(t, q, "kept")
	q.Close()
	srv.Close()
	srv.Close() // may be called again
	again, err := embedded.Start(dir, embedded.SyncAlways(), embedded.Listen(0))
	must(t, err)
	defer again.Close()
	if u, err := url.Parse(again.URL()); err != nil || u.Hostname() != "127.0.0.1" || len(u.User.Username()) < 26 {
		t.Errorf("it listens on %q, %v, want 127.0.0.1 with a token", again.URL(), err)
	}
	q = open(t, again.URL(), durable.Config{})
	eventually(t, "the job that was put before is ready", isReady(t, q, 1))
	put(t, q, "synced")

	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, bad := range []string{"", file, filepath.Join(file, "below")} {
		if _, err := embedded.Start(bad); err == nil || !strings.HasPrefix(err.Error(), "embedded: start") {
			t.Errorf("in %q: %v", bad, err)
		} else {
			t.Log(err)
		}
	}
	if _, err := embedded.Start(t.TempDir(), nil); err == nil {
		t.Error("Start accepts a nil option")
	}
}
