package snippet
import jitter "github.com/retrywhen/retrywhen/jitter"
import log "log"
import durable "github.com/retrywhen/retrywhen/durable"
import backoff "github.com/retrywhen/retrywhen/backoff"
import time "time"
import context "context"
import embedded "github.com/retrywhen/retrywhen/durable/embedded"
import retry "github.com/retrywhen/retrywhen/retry"
//line ../../docs/durable.md:9
func _() {
//line ../../docs/durable.md:9
srv, err := embedded.Start("jobs")                        // a folder; the server runs in this process
if err != nil {
	log.Fatal(err)
}
q, err := durable.Open(ctx, durable.Config{
	Server: srv,                                          // or URL: "nats://n1:4222,nats://n2:4222,nats://n3:4222"
	Name:   "mail",
	Policy: retry.New(backoff.Exponential(time.Second, 2).Cap(time.Hour).Jitter(jitter.Equal), retry.Within(24*time.Hour)),
})
if err != nil {
	log.Fatal(err)
}
if _, err := q.Put(ctx, letter, durable.PutID("order-4711")); err != nil { // returns once it is stored
	log.Fatal(err)
}
err = q.Work(ctx, 16, func(ctx context.Context, job *durable.Job) error {
	return send(ctx, job.ID, job.Data)                    // idempotent, by job.ID
})
if err != nil {
	log.Print(err)
}

}
var letter []byte
func send(context.Context, string, []byte) error { return nil }
var ctx = context.Background()
