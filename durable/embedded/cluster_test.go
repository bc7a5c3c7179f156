package embedded_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
)

// nodeRole is one server of a cluster. It has one port for clients and one for the other servers.
func nodeRole(dir, name, ports, routes string) int {
	ctx, cancel := child()
	defer cancel()
	clients, cluster, _ := strings.Cut(ports, ",")
	port, _ := strconv.Atoi(clients)
	clusterPort, _ := strconv.Atoi(cluster)
	srv, err := embedded.Start(dir, embedded.Listen(port), anybody, embedded.MaxStore(1<<30), embedded.Options(func(o *server.Options) {
		o.ServerName = name
		o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: clusterPort}
		for r := range strings.SplitSeq(routes, ",") {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: "127.0.0.1:" + r})
		}
	}))
	return serve(ctx, srv, err)
}

// threeNodes starts a cluster. first is the folder of its first node, if it is not "".
func threeNodes(t *testing.T, first string) (names []string, nodes map[string]*process, start func(i int), all string) {
	names, nodes = []string{"a", "b", "c"}, make(map[string]*process)
	var ports, routes, urls, dirs []string
	for range names {
		client, route := freePort(t), freePort(t)
		ports, routes, urls = append(ports, client+","+route), append(routes, route), append(urls, "nats://127.0.0.1:"+client)
		dirs = append(dirs, t.TempDir())
	}
	dirs[0] = cmp.Or(first, dirs[0])
	start = func(i int) {
		nodes[names[i]] = spawn(t, "node", dirs[i], names[i], ports[i], strings.Join(routes, ","))
	}
	for i := range names {
		start(i)
	}
	return names, nodes, start, strings.Join(urls, ",")
}

// openCluster opens a queue, as soon as the cluster has a leader.
func openCluster(t *testing.T, all string, c durable.Config) (q *durable.Queue) {
	patience := 500 * time.Millisecond // without a leader, nobody responds
	eventually(t, "the cluster takes a queue with three replicas", func() bool {
		patience *= 2
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var err error
		if q, err = durable.Open(ctx, connect(t, all), c); err != nil {
			t.Log(err)
		}
		return err == nil
	})
	t.Cleanup(func() { q.Close() })
	return q
}

// All nodes are killed at once. What waits is attempted once when they are back, and what was cancelled is not.
func TestAllNodesOfAClusterAreKilled(t *testing.T) {
	t.Parallel()
	names, nodes, startNode, all := threeNodes(t, "")
	c := durable.Config{Name: "cluster", Lease: 2 * time.Second, Remember: 2 * time.Second, Grace: 1}
	q := openCluster(t, all, c)
	const jobs = 60
	due := time.Now().Add(6 * time.Second)
	for i := range jobs {
		_, err := q.PutAt(t.Context(), due, nil, durable.PutID(fmt.Sprint(i)))
		must(t, err)
	}
	for i := range jobs / 2 {
		must(t, q.Cancel(t.Context(), fmt.Sprint(i)))
	}
	for _, n := range nodes {
		n.cmd.Process.Kill()
	}
	for i, name := range names {
		nodes[name].kill()
		startNode(i)
	}
	q = openCluster(t, all, c)
	var attempts tally
	work(t, q, 4, attempts.handle)
	eventually(t, "they are due", func() bool { return time.Now().After(due.Add(time.Second)) })
	untilEmpty(t, q)
	for i := range jobs {
		if n := attempts.of(fmt.Sprint(i)); (n > 0) != (i >= jobs/2) {
			t.Errorf("job %d is attempted %d times", i, n)
		}
	}
}

// The disk of the node that leads is full. Every job is stored, at the latest when it is put again. The node may stay
// up and lead consumers that deliver nothing, until it is killed: then the two others do all jobs. When there is room
// it is started again, and when it has caught up, the queue goes on without one of the others.
func TestAFullDiskOfOneNode(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t)
	dir := filepath.Join(folder, "node")
	t.Cleanup(func() { os.RemoveAll(dir) }) // after the node has ended
	names, nodes, startNode, all := threeNodes(t, dir)
	q := openCluster(t, all, durable.Config{Name: "cluster", Lease: 5 * time.Second})
	nc := connect(t, all)
	eventually(t, "the node with the small disk leads", func() bool {
		_, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN.retrywhen-cluster", []byte(`{"placement":{"preferred":"a"}}`), 5*time.Second)
		return err == nil && streamLeader(t, all, "retrywhen-cluster") == names[0]
	})
	ballast := filepath.Join(folder, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 20<<20), 0o600))
	const jobs = 60 // of 100 KiB, for which 4 MiB have no room
	refused := 0
	put := func(first, last int) {
		t.Helper()
		for i := first; i < last; i++ {
			eventually(t, "a job is stored", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := q.Put(ctx, make([]byte, 100<<10), durable.PutID(strconv.Itoa(i)))
				if err != nil && !errors.Is(err, durable.ErrExists) {
					refused++
					t.Log(i, err)
				}
				return err == nil || errors.Is(err, durable.ErrExists)
			})
		}
	}
	put(0, jobs)
	if leader := streamLeader(t, all, "retrywhen-cluster"); leader == names[0] {
		t.Errorf("the node whose disk is full still leads")
	}
	var done tally
	work(t, q, 8, done.handle)
	nodes[names[0]].kill()
	eventually(t, "all jobs are done", func() bool { return done.jobs() == jobs })
	untilEmpty(t, q)

	must(t, os.Remove(ballast))
	startNode(0)
	eventually(t, "the node has caught up", func() bool {
		return current(t, nc, "retrywhen-cluster")
	})
	nodes[streamLeader(t, all, "retrywhen-cluster")].kill()
	put(jobs, jobs+20)
	eventually(t, "the other jobs are done", func() bool { return done.jobs() == jobs+20 })
	untilEmpty(t, q)
	t.Logf("%d puts were refused", refused)
}

// A node is cut off from the two others. What its clients put is not stored, and the others do all jobs, also the one
// that its worker has. When the cut ends, its clients go on, and that worker's report is refused.
func TestANodeIsCutOff(t *testing.T) {
	t.Parallel()
	var nodes []*embedded.Server
	var whole *server.Options // of the first node
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: "127.0.0.1:" + freePort(t), User: url.UserPassword("route", "secret")})
	}
	for i, route := range routes {
		port, _ := strconv.Atoi(route.Port())
		clients, _ := strconv.Atoi(freePort(t))
		nodes = append(nodes, start(t, embedded.Listen(clients), anybody, embedded.MaxStore(1<<30), embedded.Options(func(o *server.Options) {
			o.ServerName, o.Routes = strconv.Itoa(i), routes
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port, Username: "route", Password: "secret"}
			whole = cmp.Or(whole, o)
		})))
	}
	c := durable.Config{Name: "cluster", Lease: 3 * time.Second, Remember: time.Hour}
	other, cut := openCluster(t, nodes[1].URL(), c), openCluster(t, nodes[0].URL(), c)
	const jobs = 20
	for i := range jobs {
		put(t, cut, "", durable.PutID(strconv.Itoa(i)))
	}
	var held *durable.Job
	for job, err := range cut.Jobs().Take(1).All(t.Context()) {
		held = job
		must(t, err)
	}

	whole = whole.Clone()
	alone := whole.Clone()
	alone.Routes, alone.Cluster.Password = nil, "another"
	reload := func(o *server.Options) {
		must(t, nodes[0].NATS().ReloadOptions(o.Clone()))
	}
	reload(alone)
	eventually(t, "the node is cut off", func() bool { return nodes[0].NATS().NumRoutes() == 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := cut.Put(ctx, nil, durable.PutID("during the cut")); !errors.Is(err, durable.ErrNotStored) {
		t.Errorf("put at the node that is cut off: %v", err)
	}
	work(t, other, 4, func(context.Context, *durable.Job) error { return nil })
	untilEmpty(t, other)

	reload(whole)
	eventually(t, "its clients go on", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := cut.Put(ctx, nil, durable.PutID("after the cut"))
		return err == nil || errors.Is(err, durable.ErrExists)
	})
	nc := connect(t, nodes[0].URL())
	eventually(t, "the node has caught up", func() bool { return current(t, nc, "retrywhen-cluster") }) // until then it may refuse reports as unavailable
	if err := held.Done(); !errors.Is(err, durable.ErrTaken) {
		t.Errorf("the report of the job that others have done: %v", err)
	}
	untilEmpty(t, cut)
	for i := range jobs {
		if info, err := other.Get(t.Context(), strconv.Itoa(i)); err != nil || info.State != durable.StateDone {
			t.Errorf("%d is %+v, %v", i, info, err)
		}
	}
}

func TestNothingIsLostWhenTheLeaderOfAClusterIsKilled(t *testing.T) {
	t.Parallel()
	jobs := 300
	if nightly() {
		jobs = 3_000
	}
	names, nodes, startNode, all := threeNodes(t, "")
	q := openCluster(t, all, durable.Config{Name: "cluster", Lease: 5 * time.Second, Policy: crashPolicy})

	var done, begun tally
	work(t, q, 8, func(ctx context.Context, job *durable.Job) error {
		begun.handle(ctx, job)
		if job.Attempt <= failures(job.ID) {
			return attemptError{id: job.ID, attempt: job.Attempt}
		}
		return done.handle(ctx, job)
	})
	next := make(chan string)
	var putting sync.WaitGroup
	for range 8 {
		putting.Go(func() {
			for id := range next {
				putAgain(t, q, id, id)
			}
		})
	}
	for i := range jobs {
		if i == jobs/2 {
			leader := streamLeader(t, all, "retrywhen-cluster")
			t.Log("killing the stream's leader:", leader)
			nodes[leader].kill()
		}
		if nightly() && i == jobs*3/4 { // two of three: the queue stops until they are back
			second := streamLeader(t, all, "retrywhen-cluster")
			t.Log("killing the next leader too:", second)
			nodes[second].kill()
			time.Sleep(3 * time.Second)
			for i, name := range names {
				if nodes[name].cmd.ProcessState != nil {
					startNode(i)
				}
			}
		}
		next <- "job-" + strconv.Itoa(i)
	}
	close(next)
	putting.Wait()
	untilEmpty(t, q)
	dead := make(map[string]bool)
	for _, d := range letters(t, q) {
		dead[d.ID] = true
	}
	repeated := 0
	for i := range jobs {
		id := "job-" + strconv.Itoa(i)
		n := failures(id)
		if (done.of(id) > 0) != (n <= 3) || dead[id] != (n > 3) {
			job, err := q.Get(t.Context(), id)
			t.Errorf("%s: fails %d times, begun %d times, done %d times, dead %v; now %+v, %v", id, n, begun.of(id), done.of(id), dead[id], job, err)
		}
		repeated += begun.of(id) - min(n+1, 4)
	}
	t.Logf("%d jobs, %d attempts repeated, %d dead", jobs, repeated, len(dead))
}

func streamLeader(t *testing.T, urls, stream string) string {
	t.Helper()
	nc, err := nats.Connect(urls)
	must(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	must(t, err)
	leader := ""
	eventually(t, "the stream has a leader and two followers", func() bool {
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			return false
		}
		leader = s.CachedInfo().Cluster.Leader
		return leader != "" && len(s.CachedInfo().Cluster.Replicas) == 2
	})
	return leader
}

// current reports whether all replicas of the stream and of its consumers have caught up.
func current(t *testing.T, nc *nats.Conn, stream string) bool {
	js, err := jetstream.New(nc)
	must(t, err)
	behind := func(p *jetstream.PeerInfo) bool { return p.Offline || !p.Current }
	s, err := js.Stream(t.Context(), stream)
	if err != nil || slices.ContainsFunc(s.CachedInfo().Cluster.Replicas, behind) {
		return false
	}
	consumers := s.ListConsumers(t.Context())
	n := 0
	for c := range consumers.Info() {
		if n++; c.Cluster == nil || c.Cluster.Leader == "" || slices.ContainsFunc(c.Cluster.Replicas, behind) {
			return false
		}
	}
	return consumers.Err() == nil && n > 0
}
