package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// beginsAgain is a server whose queue q can begin again while workers have jobs of it.
type beginsAgain struct {
	t         *testing.T
	dir, port string
	srv       *embedded.Server
}

func (b *beginsAgain) start() {
	b.t.Helper()
	port, _ := strconv.Atoi(b.port)
	srv, err := embedded.Start(b.dir, embedded.Listen(port), anybody)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { srv.Close() })
	b.srv = srv
}

func (b *beginsAgain) url() string { return "nats://127.0.0.1:" + b.port }

// restart starts the server again with the folder dir.
func (b *beginsAgain) restart(dir string) {
	b.t.Helper()
	b.srv.Close()
	b.dir = dir
	b.start()
}

// deletes deletes the queue.
func (b *beginsAgain) deletes(q durable.Config) {
	b.t.Helper()
	if err := open(b.t, b.url(), q).Delete(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// A worker has jobs of a queue that begins again: by Delete and Open, because its server had it in memory, or because
// its server comes back with an older disk. Whatever the worker reports, and when, no job is lost that was put after
// that, although it may have the id and the number in the stream of an old one.
func TestAQueueThatBeginsAgainLosesNoJob(t *testing.T) {
	t.Parallel()
	runs, jobs := 1, 20
	if nightly() {
		runs = 10
	}
	for way, config := range map[string]durable.Config{"deleted": {}, "in memory": {InMemory: true}, "an older disk": {}} {
		for _, named := range []bool{false, true} {
			for _, when := range []string{"while it is away", "at once", "after 5 s"} {
				for run := range runs {
					t.Run(fmt.Sprintf("%s, ids %t, %s, %d", way, named, when, run), func(t *testing.T) {
						t.Parallel()
						config.Name, config.Lease = "q", time.Second
						b := beginsAgain{t: t, dir: t.TempDir(), port: freePort(t)}
						b.start()
						var done sync.Map // the data of new jobs
						var begun atomic.Int64
						release := make(chan struct{})
						handler := func(_ context.Context, job *durable.Job) error {
							if data := string(job.Data); data != "old" {
								done.Store(data, true)
								return nil
							}
							begun.Add(1)
							<-release
							return nil
						}
						putAll := func(q *durable.Queue, data func(int) string) {
							for i := range jobs {
								var options []durable.PutOption
								if named {
									options = append(options, durable.PutID("job-"+strconv.Itoa(i)))
								}
								put(t, q, data(i), options...)
							}
						}
						one := open(t, b.url(), config)
						before := copied(t, b.dir)
						putAll(one, func(int) string { return "old" })
						stopped := make(chan error, 1)
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						go func() { stopped <- one.Work(ctx, jobs, handler) }()
						eventually(t, "the old jobs have begun", func() bool { return begun.Load() == int64(jobs) })
						switch way {
						case "deleted":
							b.deletes(config)
						case "in memory":
							b.restart(b.dir)
						case "an older disk":
							b.restart(before)
						}
						if when == "while it is away" {
							close(release)
						}
						nc := connect(t, b.url())
						two := open(t, nc, config)
						putAll(two, func(i int) string { return "new " + strconv.Itoa(i) })
						has, ends := make(chan struct{}, jobs), make(chan struct{})
						defer close(ends)
						go two.Work(ctx, jobs, func(context.Context, *durable.Job) error { has <- struct{}{}; <-ends; return nil })
						if when != "while it is away" { // else the first worker may take them
							for range jobs {
								<-has
							}
						}
						if when == "after 5 s" {
							time.Sleep(5 * time.Second)
						}
						if when != "while it is away" {
							close(release)
						}
						time.Sleep(300 * time.Millisecond) // the reports of the first worker
						nc.Close()                         // as when its process dies
						three := open(t, b.url(), config)
						work(t, three, 4, handler)
						untilEmpty(t, three)
						n := 0
						for range done.Range {
							n++
						}
						if n != jobs {
							t.Errorf("%d of %d new jobs are done", n, jobs)
						}
						want := durable.ErrGone
						if way == "an older disk" { // it is the same queue
							want = nil
							cancel()
						}
						if err := <-stopped; !errors.Is(err, want) {
							t.Errorf("the first worker has ended with %v, want %v", err, want)
						}
					})
				}
			}
		}
	}
}
