package snippet
import log "log"
import durable "github.com/retrywhen/retrywhen/durable"
import context "context"
//line ../../docs/durable.md:176
func _() {
//line ../../docs/durable.md:176
for letter, err := range q.Dead().All(ctx) {   // the last error, attempts, times, data
	if err != nil {
		log.Fatal(err)
	}
	if letter.Cause != "permanent" {
		// Again, from the first attempt; or q.Forget.
		if err := q.Revive(ctx, letter.ID); err != nil {
			log.Fatal(err)
		}
	}
}

}
var q *durable.Queue
var ctx = context.Background()
