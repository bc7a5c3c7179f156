package snippet
import durable "github.com/retrywhen/retrywhen/durable"
import log "log"
import context "context"
import retry "github.com/retrywhen/retrywhen/retry"
//line ../../docs/durable.md:157
func _() {
//line ../../docs/durable.md:157
b, err := durable.OpenBudget(ctx, durable.BudgetConfig{URL: url, Name: "payments", Tokens: 100, Local: 25})
if err != nil {
	log.Fatal(err)
}
policy = policy.With(b.Option())

}
var ctx = context.Background()
var url string
var policy = retry.Default
