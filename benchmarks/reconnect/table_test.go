package reconnect

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

var write = flag.Bool("write", false, "write RECONNECT.md")

type serverRun = func(context.Context, net.Listener)

type subject struct {
	name     string
	promises string
	serve    serverRun // keeps nothing
	run      clientRun
	fresh    func() (serverRun, clientRun) // in their place, if the server of a run keeps its state when it is started again
	options  []reconnecttest.Option
	notes    []note
}

// note explains the findings of a kind whose Where contains the words, with the place in the client's code, or with a
// point of the comment of a package in testdata. It says what the client's documents say of it, if they do, and shows
// them without Check.
type note struct {
	kind            prove.Kind
	words           string
	text, documents string
	show            func(t *testing.T)
}

// point names a point of the comment of a package in testdata, or with 0 the comment, and places in the client's code.
func point(folder string, number int, links ...string) string {
	text := "testdata/" + folder
	if number > 0 {
		text += fmt.Sprintf(", %d", number)
	}
	return text + ": " + strings.Join(links, ", ")
}

// check returns what Check finds in the client, and fails for a finding without a note.
func (s subject) check(t *testing.T) prove.Report {
	options := slices.Clone(s.options)
	for _, n := range s.notes {
		options = append(options, reconnecttest.Known(n.kind, n.words, n.text))
	}
	return reconnecttest.Check(t, func() reconnecttest.Run[string] {
		serve, run := s.serve, s.run
		if s.fresh != nil {
			serve, run = s.fresh()
		}
		return reconnecttest.Run[string]{Serve: serve, Client: run}
	}, options...)
}

// documents is what a client's documents say of the finding with this text.
func (s subject) documents(text string) string {
	if i := slices.IndexFunc(s.notes, func(n note) bool { return n.text == text }); i >= 0 {
		return sentence(s.notes[i].documents)
	}
	return ""
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return " " + text + "."
}

// values are what a silent connection did not deliver, and scenarios the words after their numbers.
var values, scenarios = regexp.MustCompile(`(, and|; it) lost ".*"( and \d+ more)?`), " such scenarios)"

// short returns a finding's line without what is the same in each.
func short(line string) string {
	return strings.ReplaceAll(values.ReplaceAllString(line, ""), scenarios, ")")
}

// nightly skips a test that takes minutes, unless it is night, its table is to be written, or -run names a client.
func nightly(t *testing.T) {
	t.Helper()
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" && !*write && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		t.Skip("it takes minutes, some with real servers; RETRYWHEN_NIGHTLY enables it")
	}
}

// TestTable takes minutes. It logs what is found in each client, and where that is in its code.
func TestTable(t *testing.T) {
	nightly(t)
	var rows strings.Builder
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			report := s.check(t)
			rows.WriteString(row("TestTable", s.name, report))
			t.Log(s.promises)
			frozen, more := "", 0 // why the first cannot be judged, and how many others
			for _, f := range report.Findings {
				text := f.Known
				f.Known, f.Mend = "", "" // the text says what the cause is
				line, _, ok := strings.Cut(f.String(), ": time stands still")
				if ok && text == frozen {
					more++
					continue
				} else if ok {
					frozen = text
				}
				line, _, _ = strings.Cut(line, "\n")
				t.Logf("%s: %s\n  %s%s", f.Kind, short(line), text, s.documents(text))
			}
			if more > 0 {
				t.Logf("%d more cannot be judged, for that reason", more)
			}
		})
	}
	writeRows(t, inVirtualTime, rows.String())
}

// writeRows writes the rows of a table whose heading is given, if the flag says so.
func writeRows(t *testing.T, heading, rows string) {
	t.Helper()
	if !*write || t.Failed() {
		return
	}
	text, err := os.ReadFile("RECONNECT.md")
	must(t, err)
	before, rest, ok := strings.Cut(string(text), heading+columns)
	_, after, closed := strings.Cut(rest, "\n\n")
	if !ok || !closed {
		t.Fatalf("RECONNECT.md has no %q with a text after it", heading+columns)
	}
	must(t, os.WriteFile("RECONNECT.md", []byte(before+heading+columns+rows+"\n"+after), 0o644))
}

const (
	inVirtualTime = "## On virtual time\n\n"
	inRealTime    = "## In real time\n\n"
	columns       = "| client | version | findings | command |\n|---|---|---|---|\n"
)

var version = regexp.MustCompile(` v\d[^ ,]*`)

// row is the line of a client in a table.
func row(test, name string, r prove.Report) string {
	var kinds []string
	for _, f := range r.Findings {
		if kind := string(f.Kind); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if kinds == nil {
		kinds = []string{"–"}
	}
	at := version.FindStringIndex(name)
	client, of := name[:at[0]]+name[at[1]:], strings.TrimSpace(name[at[0]:at[1]])
	return fmt.Sprintf("| %s | %s | %s | `-run %s/%s` |\n", client, of, strings.Join(kinds, ", "), test, name[:at[0]])
}

var (
	atLeastOnce = reconnecttest.AtLeastOnce()
	givesUp     = reconnecttest.GivesUp()
)

func link(text, url string) string { return "[" + text + "](https://github.com/" + url + ")" }

var subjects = []subject{
	{
		name:     "coder/websocket v1.8.15 with examples/recipes/websocket",
		promises: "Promises: each event once. This is operators.Resume over one connection of coder/websocket, which does not reconnect itself.",
		serve:    serveWebSocket, run: runWebSocket,
	},
	{
		name:     "r3labs/sse v2.10.0",
		promises: "SubscribeWithContext, with the default ReconnectStrategy. The client sends Last-Event-ID, so each event is expected once. GivesUp.",
		serve:    serveSSE, run: runR3labs, options: []reconnecttest.Option{givesUp},
		notes: []note{
			{prove.Lost, "in the middle of", point("r3labs-sse", 1, link("event.go:50", "r3labs/sse/blob/v2.10.0/event.go#L50"), link("client.go:238", r3labsFile+"#L238")),
				"Promised otherwise by [the specification](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)", fails("r3labs-sse", "TestHalfAnEvent")},
			{prove.Silent, "", "There is no read timeout. A Connection with a transport that has one would help. " + link("client.go:211", r3labsFile+"#L211"),
				"", staysSilent(runR3labs, sending(eventStream, 10*24*time.Hour))},
			{prove.Late, "", point("r3labs-sse", 2, link("client.go:118", r3labsFile+"#L118")), "", fails("r3labs-sse", "TestTheContextEndsIt")},
			{prove.Reset, "", point("r3labs-sse", 3, link("client.go:118", r3labsFile+"#L118")), "", fails("r3labs-sse", "TestABreakAfterAQuarterOfAnHour")},
		},
	},
	{
		name:     "launchdarkly/eventsource v1.11.0",
		promises: "With the options for reconnects: CanRetryFirstConnection(-1), ReadTimeout(1m), UseBackoff(30s), UseJitter(0.5), RetryResetInterval(1m). Each event is expected once.",
		serve:    serveSSE, run: runEventSource,
		notes: []note{
			{prove.Silent, "", point("eventsource", 1, link("stream.go:251", eventSourceFile+"#L251")),
				"Promised otherwise: [ReadTimeout](https://pkg.go.dev/github.com/launchdarkly/eventsource#StreamOptionReadTimeout)", fails("eventsource", "TestReadTimeoutBeforeTheHeader")},
			{prove.Late, "", point("eventsource", 2, link("stream.go:151", eventSourceFile+"#L151")), "", fails("eventsource", "TestTheContextEndsTheFirstConnection")},
			{prove.Left, "", point("eventsource", 3, link("decoder.go:196", "launchdarkly/eventsource/blob/v1.11.0/decoder.go#L196")), "", fails("eventsource", "TestAReadTimeoutLeavesNoGoroutine")},
		},
	},
	{
		name:     "tmaxmax/go-sse v0.11.0",
		promises: "A Connection with the default Backoff. Each event is expected once. GivesUp.",
		serve:    serveSSE, run: runGoSSE, options: []reconnecttest.Option{givesUp},
		notes: []note{
			{prove.Silent, "", "There is no read timeout. " + link("client_connection.go:162", "tmaxmax/go-sse/blob/v0.11.0/client_connection.go#L162"), "", staysSilent(runGoSSE, sending(eventStream, 10*24*time.Hour))},
			{prove.Cap, "", "The default Backoff has no MaxInterval: waits grow by half each time. " + link("client.go:124", "tmaxmax/go-sse/blob/v0.11.0/client.go#L124"),
				"Documented: [Backoff](https://pkg.go.dev/github.com/tmaxmax/go-sse#Backoff)", goSSELongestWait},
		},
	},
	{
		name: "modelcontextprotocol/go-sdk v1.8.0, the streamable client",
		promises: "The client of docs/protocol.md with the protocol's version 2025-11-25, the last one in which a stream can be resumed, and a handler of log messages. " +
			"The stream of the server's messages \"automatically reconnects if interrupted\", and the client sends Last-Event-ID, so each message is expected once. GivesUp.",
		serve: serveMCP, run: runMCP, options: []reconnecttest.Option{givesUp},
		notes: []note{
			{prove.GaveUp, "", "Connect is not retried. " + link("client.go:390", mcpFiles+"mcp/client.go#L390"),
				"Documented: [MaxRetries](https://pkg.go.dev/github.com/modelcontextprotocol/go-sdk/mcp#StreamableClientTransport) is for reconnects", mcpConnect},
			{prove.Unjudged, "", point("mcp-go-sdk", 3, link("conn.go:121", mcpFiles+"internal/jsonrpc2/conn.go#L121"), link("streamable.go:2790", mcpFiles+"mcp/streamable.go#L2790")),
				"", fails("mcp-go-sdk", "TestACallDuringCloseEndsWithItsContext")},
			{prove.Silent, "", "There is no read timeout. KeepAlive sends its pings on other connections. " + link("streamable.go:2623", mcpFiles+"mcp/streamable.go#L2623"),
				"", staysSilent(runMCP, servingMCP(eventStream))},
			{prove.Late, "", point("mcp-go-sdk", 2, link("streamable.go:2169", mcpFiles+"mcp/streamable.go#L2169")), "", fails("mcp-go-sdk", "TestConnectEndsWithItsContext")},
			{prove.Repeated, "", point("mcp-go-sdk", 1, link("streamable.go:2523", mcpFiles+"mcp/streamable.go#L2523"), link("streamable.go:2702", mcpFiles+"mcp/streamable.go#L2702")),
				"Promised otherwise by [the protocol](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery)", fails("mcp-go-sdk", "TestLastEventIDOfAStreamWithoutAnEvent")},
		},
	},
	{
		name:     "hashicorp/go-retryablehttp v0.7.8, a download",
		promises: "The default client reads a body of 12 lines. GivesUp.",
		serve:    serveFile, run: runRetryableHTTP, options: []reconnecttest.Option{givesUp},
		notes: []note{
			{prove.GaveUp, "", "The retries end when the response's header has come: what breaks later is the caller's. " +
				link("client.go:719", "hashicorp/go-retryablehttp/blob/v0.7.8/client.go#L719"), "Documented: the README names what is retried", retryableHTTPBody},
			{prove.Silent, "", "There is no timeout by default. HTTPClient.Timeout would end the whole download. " +
				link("client.go:442", "hashicorp/go-retryablehttp/blob/v0.7.8/client.go#L442"), "", staysSilent(runRetryableHTTP, silent)},
		},
	},
	{
		name:     "nats-io/nats.go v1.55.0, core",
		promises: "Connect and Subscribe with the default options. Core NATS delivers at most once. GivesUp, AtLeastOnce.",
		serve:    serveNATS, run: runNATS, options: []reconnecttest.Option{givesUp, atLeastOnce},
		notes: []note{
			{prove.GaveUp, "", "The first connection is not retried. " + link("nats.go:1722", "nats-io/nats.go/blob/v1.55.0/nats.go#L1722"), "Documented: it is an option, RetryOnFailedConnect", endsAtFirst(runNATS)},
			{prove.Open, "", point("nats", 1, link("nats.go:3581", "nats-io/nats.go/blob/v1.55.0/nats.go#L3581")), "", fails("nats", "TestAFailedHandshakeClosesItsConnection")},
			{prove.Unjudged, "", point("nats", 2, link("nats.go:3581", "nats-io/nats.go/blob/v1.55.0/nats.go#L3581")), "", fails("nats", "TestCloseDuringAHandshake")},
		},
	},
	{
		name:     "redis/go-redis v9.23.0, Pub/Sub",
		promises: "Subscribe and Channel with the default options. Redis delivers at most once. AtLeastOnce.",
		serve:    serveRedis, run: runRedis, options: []reconnecttest.Option{atLeastOnce},
		notes: []note{
			{prove.Silent, "", point("go-redis", 1, link("pubsub.go:731", pubSubFile+"#L731"), link("pubsub.go:529", pubSubFile+"#L529")),
				"Promised otherwise: [Channel](https://pkg.go.dev/github.com/redis/go-redis/v9#PubSub.Channel)", fails("go-redis", "TestAPingWithoutAReply")},
			{prove.Hot, "", point("go-redis", 2, link("pubsub.go:766", pubSubFile+"#L766")), "", fails("go-redis", "TestWaitAfterAConnectionThatEndsAtOnce")},
			{prove.Unjudged, "", point("go-redis", 3, link("pubsub.go:67", pubSubFile+"#L67")), "", fails("go-redis", "TestCloseWhileItDials")},
			{prove.Jitter, "", point("go-redis", 2, link("pubsub.go:767", pubSubFile+"#L767")), "", fails("go-redis", "TestBackoff")},
			{prove.Late, "", "The commands with which a connection begins have a background context: they end with ReadTimeout, after 5 s. " +
				link("redis.go:1893", "redis/go-redis/blob/v9.23.0/redis.go#L1893") + ", " + link("options.go:741", "redis/go-redis/blob/v9.23.0/options.go#L741"), "Documented: it is an option, ContextTimeoutEnabled", redisContext},
		},
	},
	{
		name:     "eclipse/paho.mqtt.golang v1.5.1",
		promises: "The default options and ConnectRetry, whose comment asks for subscriptions in OnConnect. Quality of service 0. AtLeastOnce.",
		serve:    serveMQTT, run: runMQTT, options: []reconnecttest.Option{atLeastOnce},
		notes: []note{
			{prove.Left, "", point("paho", 1, link("client.go:416", pahoFiles+"client.go#L416"), link("client.go:429", pahoFiles+"client.go#L429")),
				"Documented: goroutines that Disconnect leaves; not that they connect", fails("paho", "TestDisconnectEndsAnAttempt")},
			{prove.Late, "", point("paho", 1, link("client.go:429", pahoFiles+"client.go#L429")), "", fails("paho", "TestDisconnectEndsAnAttempt")},
			{prove.Cap, "", "The check expects at most 5 minutes. " + link("options.go:142", pahoFiles+"options.go#L142"),
				"Documented: [MaxReconnectInterval](https://pkg.go.dev/github.com/eclipse/paho.mqtt.golang#NewClientOptions)", mqttLongestWait},
			{prove.Jitter, "", point("paho", 2, link("backoff.go:86", pahoFiles+"backoff.go#L86")), "", fails("paho", "TestJitter")},
		},
	},
	tgbotapiSubject,
	telegramSubject,
	minioSubject,
	matrixSubject,
	autopahoSubject,
	centrifugeSubject,
	slackSubject,
	postgresSubject,
	consulSubject,
	ethereumSubject,
	informerSubject,
	kafkaSubject,
}

const (
	r3labsFile      = "r3labs/sse/blob/v2.10.0/client.go"
	eventSourceFile = "launchdarkly/eventsource/blob/v1.11.0/stream.go"
	mcpFiles        = "modelcontextprotocol/go-sdk/blob/v1.8.0/"
	pubSubFile      = "redis/go-redis/blob/v9.23.0/pubsub.go"
	pahoFiles       = "eclipse/paho.mqtt.golang/blob/v1.5.1/"
)
