package snippet
import durable "github.com/retrywhen/retrywhen/durable"
import nats "github.com/nats-io/nats.go"
import context "context"
//line ../../docs/durable.md:114
func _() {
//line ../../docs/durable.md:114
q, err = durable.Open(ctx, durable.Config{
	URL:      "tls://n1:4222,tls://n2:4222,tls://n3:4222",
	Name:     "mail",
	Replicas: 3,
	NATS:     []nats.Option{nats.UserInfo("worker", password), nats.RootCAs("ca.pem")}, // anything that nats.go takes
})

}
var password string
var q *durable.Queue
var err error
var ctx = context.Background()
