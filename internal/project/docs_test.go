package project_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/internal/doccode"
)

// paths maps the package names in the documents' code to import paths.
var paths = map[string]string{
	"bufio": "bufio", "context": "context", "errors": "errors", "fmt": "fmt", "io": "io", "log": "log", "slog": "log/slog", "net": "net",
	"http": "net/http", "httptest": "net/http/httptest", "os": "os", "slices": "slices", "strconv": "strconv", "sync": "sync", "testing": "testing",
	"synctest": "testing/synctest", "time": "time", "url": "net/url", "iter": "iter",
	"backoff": module + "/backoff", "jitter": module + "/jitter", "operators": module + "/operators",
	"retry": module + "/retry", "retryhttp": module + "/retryhttp", "rx": module + "/operators/rx",
	"sim": module + "/sim", "stream": module + "/stream", "streamtest": module + "/streamtest",
	"clock": "github.com/benbjohnson/clock", "rxgo": "github.com/reactivex/rxgo/v2",
}

// code declares the names that the documents' code uses without declaring them.
var code = doccode.Code{
	Imports: paths,
	Given: map[string]string{
		"fetch":       "func fetch() (int, error) { return 1, nil }",
		"store":       "func store(int) error { return nil }",
		"isTransient": "func isTransient(error) bool { return true }",
		"budget":      "var budget = retry.NewBudget(10, 1, 0.1)",
		"online":      "var online = retry.NewSignal()",
		"policy":      "var policy = retry.Default",
		"lines":       "func lines(offset int) stream.Stream[string] { return stream.Never[string]() }",
		"src":         "var src = stream.Of(1, 2, 3)",
		"ctx":         "var ctx = context.Background()",

		"Event":        "type Event struct{ ID int64 }",
		"Price":        "type Price struct{}",
		"User":         "type User struct{}",
		"subscribe":    "func subscribe(context.Context, int64) (*subscription, error) { return nil, nil }",
		"subscription": "type subscription struct{ C chan Event }; func (*subscription) Err() error { return nil }",
		"connect":      "func connect(int64) stream.Stream[Event] { return nil }",
		"reconnect":    "var reconnect = retry.Default",
		"patient":      "var patient = retry.Default",
		"apply":        "func apply(context.Context, Event) error { return nil }",
		"bury":         "func bury(context.Context, any, error) error { return nil }",
		"load":         "func load(context.Context) (int64, error) { return 0, nil }",
		"open":         "func open(int64) stream.Stream[Event] { return nil }",
		"after":        "func after(int64, Event) int64 { return 0 }",
		"row":          "type row struct{ changed, id int64 }",
		"position":     "type position struct{ changed, id int64 }",
		"query":        "func query(context.Context, int64, int64) ([]row, error) { return nil, nil }",
		"Message":      "type Message struct{}; func (Message) Acknowledge() error { return nil }",
		"consume":      "func consume(context.Context, func(Message) bool) error { return nil }",
		"process":      "func process(context.Context, Message) error { return nil }",
		"feed":         "var feed stream.Stream[Event]",
		"errClosed":    `var errClosed = errors.New("closed")`,
		"handle":       "func handle(context.Context, Event) error { return nil }",
		"isPrice":      "func isPrice(Event) bool { return true }",
		"parse":        "func parse(Event) Price { return Price{} }",
		"quote":        "type quote struct{ ID int }",
		"cursor":       "type cursor interface { Next(context.Context) (quote, error); Close() error }",
		"quotes":       "type quotes struct { subscribe func(context.Context, int) (cursor, error) }; func (quotes) follow() stream.Stream[quote] { return nil }",
		"client":       "type client struct { dial func(context.Context, string, string) (net.Conn, error) }; func (client) Subscribe(context.Context, int) (cursor, error) { return nil, nil }",
		"dialer":       "type dialer = func(ctx context.Context, network, address string) (net.Conn, error)",
		"serveQuotes":  "func serveQuotes(context.Context, net.Listener) {}",
		"serveEvents":  "func serveEvents(http.ResponseWriter, *http.Request) {}",
		"follow":       "func follow(context.Context, *http.Client, func(string)) error { return nil }",
		"fetchUser":    "func fetchUser(context.Context, int) (User, error) { return User{}, nil }",
	},
}

func TestTheDocumentsCodeCompiles(t *testing.T) {
	inTop(t)
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	documents = slices.DeleteFunc(documents, func(name string) bool {
		// durable.md is below. The code of operators.md is signatures, made from the code. Each block of
		// tutorial.md is in a test.
		return slices.Contains([]string{"durable.md", "operators.md", "tutorial.md"}, filepath.Base(name))
	})
	if err := code.Vet(append(documents, "README.md")...); err != nil {
		t.Error(err)
	}
}

// The code of durable.md needs the modules that it is about.
func TestTheCodeOfDurableCompiles(t *testing.T) {
	inTop(t)
	code := doccode.Code{
		Module: "durable/embedded",
		Imports: map[string]string{
			"context": "context", "errors": "errors", "log": "log", "time": "time", "os": "os", "signal": "os/signal", "syscall": "syscall", "nats": "github.com/nats-io/nats.go",
			"backoff": module + "/backoff", "jitter": module + "/jitter", "operators": module + "/operators", "retry": module + "/retry",
			"stream": module + "/stream", "durable": module + "/durable", "embedded": module + "/durable/embedded",
		},
		Given: map[string]string{
			"err":         "var err error",
			"ctx":         "var ctx = context.Background()",
			"policy":      "var policy = retry.Default",
			"letter":      "var letter []byte",
			"password":    "var password string",
			"nc":          "var nc *nats.Conn",
			"traceparent": "var traceparent string",
			"handler":     "func handler(context.Context, *durable.Job) error { return nil }",
			"folder":      "var folder string",
			"Row":         "type Row struct{ ID int64 }",
			"rowsAfter":   "func rowsAfter(int64) stream.Stream[Row] { return stream.Empty[Row]() }",
			"copyRow":     "func copyRow(context.Context, Row) error { return nil }",
			"night":       "func night(time.Time) bool { return false }",
			"q":           "var q *durable.Queue",
			"send":        "func send(context.Context, string, []byte) error { return nil }",
		},
	}
	if err := code.Vet("docs/durable.md"); err != nil {
		t.Error(err)
	}
}

// TestTheSemanticsNameTheirTests checks that the tests that docs/semantics.md names exist.
func TestTheSemanticsNameTheirTests(t *testing.T) {
	inTop(t)
	text, err := os.ReadFile("docs/semantics.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("stream/retrywhen_test.go")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`TestRule\w+`).FindAllString(string(text), -1) {
		named[name] = true
		if !strings.Contains(string(tests), "func "+name+"(") {
			t.Errorf("docs/semantics.md names %s, which does not exist", name)
		}
	}
	for _, match := range regexp.MustCompile(`func (TestRule\w+)\(`).FindAllStringSubmatch(string(tests), -1) {
		if !named[match[1]] {
			t.Errorf("docs/semantics.md does not name %s", match[1])
		}
	}
}
