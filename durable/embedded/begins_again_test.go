package embedded_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
	must(b.t, err)
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
	must(b.t, open(b.t, b.url(), q).Delete(timeout(b.t, 2*time.Minute))) // on a busy machine
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
		config.Name, config.Lease = "q", time.Second
		for _, named := range []bool{false, true} {
			for _, when := range []string{"while it is away", "at once", "after 5 s"} {
				for run := range runs {
					t.Run(fmt.Sprintf("%s, ids %t, %s, %d", way, named, when, run), func(t *testing.T) {
						t.Parallel()
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
							eventually(t, "the second worker has all new jobs", func() bool { return len(has) == jobs })
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

// account says what became of the jobs of a queue that begins again. A job's data is its name, and the number of the
// fault after which it was put last.
type account struct {
	mu    sync.Mutex
	fault time.Time            // when the last one was over
	after map[string]time.Time // the fault before the last put of a job
	data  map[string]string    // of the last put, "" if the job was there already
	done  map[string]map[string]time.Time
}

// has notes that a job is stored with the data, or that it was there already if data is "".
func (a *account) has(name, data string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.after[name], a.data[name] = a.fault, data
}

// did notes that an attempt has succeeded.
func (a *account) did(name, data string, began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done[name] == nil {
		a.done[name] = make(map[string]time.Time)
	}
	a.done[name][data] = began
}

// isDone reports whether the job that is stored was done: the one that was put last, or if that was there already, any in
// an attempt that has begun since the fault before. It may have ended before the put.
func (a *account) isDone(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for data, began := range a.done[name] {
		if data == a.data[name] || a.data[name] == "" && began.After(a.after[name]) {
			return true
		}
	}
	return false
}

// Jobs are put and attempted while the queue is deleted and opened again, its server comes back with older disks, also
// with those from before a deletion, and workers die. After each of these, the jobs that are not done are put again.
// At the end each is done or dead as expected, and none is both.
func TestAttack_TheLedgerOfAQueueThatBeginsAgain(t *testing.T) {
	t.Parallel()
	const workers = 3
	jobs, rounds := 1000, 8
	if nightly() {
		jobs, rounds = 5000, 60
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	config := durable.Config{Name: "q", Lease: 2 * time.Second, Policy: crashPolicy, Remember: time.Hour, MaxCrashes: 1000, Grace: 1}
	b := beginsAgain{t: t, dir: t.TempDir(), port: freePort(t)}
	b.start()
	a := account{after: make(map[string]time.Time), data: make(map[string]string), done: make(map[string]map[string]time.Time)}
	handler := func(ctx context.Context, job *durable.Job) error {
		began := time.Now()
		pause := time.Duration(rand.IntN(4)) * time.Millisecond
		if rand.IntN(40) == 0 {
			pause = time.Duration(rand.IntN(2500)) * time.Millisecond
		}
		time.Sleep(pause)
		name, _, _ := strings.Cut(string(job.Data), " ")
		if job.Attempt <= failures(name) {
			return errors.New("no")
		}
		a.did(name, string(job.Data), began)
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var gone atomic.Int64
	var deleting sync.RWMutex // TestAQueueIsDeletedWhileOthersUseIt says why
	conns := make([]atomic.Pointer[nats.Conn], workers)
	for i := range conns {
		running.Go(func() {
			for ctx.Err() == nil {
				nc, err := nats.Connect(b.url(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.RetryOnFailedConnect(true))
				if err != nil {
					t.Error(err)
					return
				}
				conns[i].Store(nc)
				deleting.RLock()
				q, err := durable.Open(ctx, nc, config)
				deleting.RUnlock()
				if err == nil {
					err = q.Work(ctx, 16, handler)
					q.Close()
				}
				if errors.Is(err, durable.ErrGone) {
					gone.Add(1)
				}
				nc.Close()
			}
		})
	}
	defer running.Wait()
	defer stop()
	reopen := func() *durable.Queue { return open(t, b.url(), config) }
	name := func(i int) string { return "job-" + strconv.Itoa(i) }
	sent, epoch := 0, 0
	putAll := func(q *durable.Queue, numbers []int) {
		var all []durable.NewJob
		for _, i := range numbers {
			job := durable.NewJob{Data: fmt.Appendf(nil, "%s in %d", name(i), epoch)}
			if i%2 == 0 {
				job.Options = []durable.PutOption{durable.PutID(name(i))}
			}
			all = append(all, job)
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // on a busy machine
		defer cancel()
		for n, r := range q.PutAll(ctx, all) {
			switch {
			case r.Err == nil:
				a.has(name(numbers[n]), string(all[n].Data))
			case errors.Is(r.Err, durable.ErrExists):
				a.has(name(numbers[n]), "")
			default:
				t.Errorf("seed %d: put %s: %v", seed, name(numbers[n]), r.Err)
			}
		}
	}
	did := make(map[string]int)
	backups := []string{copied(t, b.dir)}
	q := reopen()
	for round := range rounds {
		var next []int
		for ; sent < (round+1)*jobs/rounds; sent++ {
			next = append(next, sent)
		}
		putAll(q, next)
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
		switch what := round % 4; what {
		case 0:
			did["workers killed"]++
			if nc := conns[random.IntN(workers)].Load(); nc != nil {
				nc.Close()
			}
			continue
		case 1, 3:
			did["older disks"]++
			epoch++
			b.restart(copied(t, backups[random.IntN(len(backups))]))
		case 2:
			did["deletions"]++
			epoch++
			deleting.Lock()
			err := q.Delete(timeout(t, 2*time.Minute)) // on a busy machine
			deleting.Unlock()
			must(t, err)
		}
		a.mu.Lock()
		a.fault = time.Now()
		a.mu.Unlock()
		q = reopen()
		var open []int
		for i := range sent {
			if !a.isDone(name(i)) {
				open = append(open, i)
			}
		}
		putAll(q, open)
		backups = append(backups, copied(t, b.dir))
	}
	untilEmpty(t, q)
	dead := make(map[string]string) // the causes, by the names and by the data
	for _, letter := range letters(t, q) {
		name, _, _ := strings.Cut(string(letter.Data), " ")
		dead[name], dead[string(letter.Data)] = letter.Cause, letter.Cause
	}
	died := 0
	for i := range jobs {
		n, done := failures(name(i)), a.isDone(name(i))
		if !done && a.data[name(i)] == "" && len(a.done[name(i)]) > 0 {
			info, err := q.Get(ctx, name(i)) // an older disk may have it as done, or an attempt that began before it was there
			done = err == nil && info.State == durable.StateDone
		}
		switch cause := dead[cmp.Or(a.data[name(i)], name(i))]; {
		case n <= 3 && (!done || cause != ""), n > 3 && (done || cause != "limit of 3 retries"):
			t.Errorf("seed %d: %s fails %d times: done %t, dead by %q; it was put as %q, one letter is %q", seed, name(i), n, done, cause, a.data[name(i)], dead[name(i)])
		case n > 3:
			died++
		}
	}
	t.Logf("seed %d: %v; %d jobs = %d done + %d dead; Work has ended with ErrGone %d times", seed, did, jobs, jobs-died, died, gone.Load())
}

// Processes open a queue and close it while it is deleted, again and again. At the end it can be opened, and works. None
// opens it at the moment at which it is deleted: nats-server 2.15.2 takes a stream from its list before it closes the
// store, so the new stream's store may write to the same file. Each reads what the other has written, and counts from
// one random number to the next, up to 2^52, with its lock held: it stands still.
func TestAQueueIsDeletedWhileOthersUseIt(t *testing.T) {
	t.Parallel()
	srv := start(t)
	ctx, stop := context.WithCancel(t.Context())
	var opening sync.WaitGroup
	var deleting sync.RWMutex
	var opened, failed atomic.Int64
	for range 4 {
		nc := connect(t, srv)
		opening.Go(func() {
			for ctx.Err() == nil {
				deleting.RLock()
				q, err := durable.Open(ctx, nc, durable.Config{Name: "q"})
				deleting.RUnlock()
				if err != nil {
					failed.Add(1)
					continue
				}
				opened.Add(1)
				q.Close()
			}
		})
	}
	js, err := jetstream.New(connect(t, srv))
	must(t, err)
	for range 100 {
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		deleting.Lock()
		err := js.DeleteStream(ctx, "retrywhen-q")
		deleting.Unlock()
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Error(err)
		}
	}
	stop()
	opening.Wait()
	t.Logf("opened %d times, failed %d times", opened.Load(), failed.Load())
	q := open(t, srv, durable.Config{})
	put(t, q, "")
	work(t, q, 1, func(context.Context, *durable.Job) error { return nil })
	untilEmpty(t, q)
}
