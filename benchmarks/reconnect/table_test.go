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
	report   string // the files in reports, if there is something to report
	notes    []note
}

// note explains the findings of a kind whose Where contains the words, with the place in the client's code, says where
// its documents promise otherwise, if they do, and shows them without Check.
type note struct {
	kind            prove.Kind
	words           string
	text, otherwise string
	show            func(t *testing.T)
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

// otherwise says whether a client's documents promise otherwise than the finding with this text.
func (s subject) otherwise(text string) string {
	i := slices.IndexFunc(s.notes, func(n note) bool { return n.text == text })
	if i < 0 {
		return promise("")
	}
	return promise(s.notes[i].otherwise)
}

func promise(where string) string {
	if where == "" {
		return ""
	}
	return " Promised otherwise: " + where + "."
}

// values are what a silent connection did not deliver, and scenarios the words after their numbers.
var values, scenarios = regexp.MustCompile(`(, and|; it) lost ".*"( and \d+ more)?`), " such scenarios)"

// short returns a finding's line without what is the same in each.
func short(line string) string {
	return strings.ReplaceAll(values.ReplaceAllString(line, ""), scenarios, ")")
}

// TestTable takes minutes.
func TestTable(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" && !*write {
		t.Skip("it takes minutes; RETRYWHEN_NIGHTLY enables it")
	}
	var head, out strings.Builder
	head.WriteString(preamble)
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			report := s.check(t)
			head.WriteString(row(s.name, report, s.report))
			fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", s.name, s.promises)
			if len(report.Findings) == 0 {
				out.WriteString("Nothing was found.\n")
			}
			for _, f := range report.Findings {
				text := f.Known
				f.Known, f.Mend = "", "" // the text says what the cause is
				line, _, frozen := strings.Cut(f.String(), ": time stands still")
				line, _, _ = strings.Cut(line, "\n")
				fmt.Fprintf(&out, "- %s\n", short(line))
				if !frozen || !strings.Contains(out.String(), text) {
					fmt.Fprintf(&out, "  *%s*%s\n", text, s.otherwise(text))
				}
			}
		})
	}
	out.WriteString(epilogue)
	if *write && !t.Failed() {
		if old, err := os.ReadFile("RECONNECT.md"); err == nil {
			if _, rest, ok := strings.Cut(string(old), inRealTime); ok { // TestRealTime writes it
				out.WriteString(inRealTime + rest)
			}
		}
		if err := os.WriteFile("RECONNECT.md", []byte(head.String()+out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// row is the line of a client in a table. reports are the names of files.
func row(name string, r prove.Report, reports string) string {
	reported := "–"
	var links []string
	for _, file := range strings.Fields(reports) {
		reported = "no"
		links = append(links, fmt.Sprintf("[%s](reports/%[1]s)", file))
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %s | %s |\n", name, r.Scenarios, r.NotPlayed, len(r.Findings), strings.Join(links, ", "), reported)
}

const columns = `
| client | scenarios | not played | findings | report | reported |
|---|---|---|---|---|---|
`

const preamble = `# What reconnecttest.Check finds in other clients

Written by ` + "`make reconnect`" + ` in benchmarks. Each client is configured as its README says, against a server in the process that
speaks as much of the protocol as it needs and delivers 12 events, 100 ms apart. Its connections break [in these
ways](../../docs/testing.md#does-it-come-back), on virtual time; "(11 of 12)" counts the scenarios of one way.

A finding is no judgement of the library: only where it says "promised otherwise" do its documents promise more. Each was
verified in the client's code, at the link, and by a test without the check, in findings_*_test.go. Two things are
different from production:

- A silent connection stays silent. A kernel gives up a connection on which written data is not acknowledged, on Linux
  after about 15 minutes; one on which the client only reads needs TCP keepalive, which Go's default dialer switches on,
  with a first probe after 15 s.
- An outage lasts for an hour. A client that gives up with an error is no finding here, except where the text says so.

After three groups that cannot be judged, one scenario of each group is played. The texts in [reports](reports) are for the
maintainers, each with a test that fails; where none is named, none has been written.
` + columns

// epilogue lists what cannot run.
const epilogue = `
## What cannot run in a bubble

| client | why |
|---|---|
| rabbitmq/amqp091-go | does not reconnect by itself, as its README says; the server is not in Go |
| jackc/pgx, LISTEN | the server is not in Go, and a real network freezes a bubble; examples/recipes/postgres breaks its connections in real time |
| nats.go with JetStream | the server listens on a real network itself; examples/recipes/jetstream breaks its connections in real time |
| bwmarrin/discordgo | its session sleeps for a second in Close, and holds its mutex, which its other goroutines wait for: [wsapi.go:972](https://github.com/bwmarrin/discordgo/blob/v0.29.0/wsapi.go#L972); judged in real time, below |
| any client that looks up a host name | package net's resolver belongs to no bubble: use an address such as 127.0.0.1 |
`

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
		promises: "SubscribeWithContext, with the default ReconnectStrategy. The README promises automatic reconnects, and the client sends Last-Event-ID, so each event is expected once. GivesUp.",
		serve:    serveSSE, run: runR3labs, options: []reconnecttest.Option{givesUp},
		notes: []note{
			{prove.Lost, "in the middle of", "At the end of the body the scanner returns what has come of an event, and its id is stored: the event is skipped after the reconnect. " +
				link("event.go:50", "r3labs/sse/blob/v2.10.0/event.go#L50") + ", " + link("client.go:238", "r3labs/sse/blob/v2.10.0/client.go#L238"), "", r3labsHalfAnEvent},
			{prove.Silent, "", "There is no read timeout; the README does not promise one. A Connection with a transport that has one would help. " +
				link("client.go:211", "r3labs/sse/blob/v2.10.0/client.go#L211"), "", staysSilent(runR3labs, sending(eventStream, 10*24*time.Hour))},
			{prove.Late, "", "The default strategy does not know the context, so a wait of up to a minute is not cut short, and requests with the ended context are repeated for up to 15 minutes. " +
				link("client.go:118", "r3labs/sse/blob/v2.10.0/client.go#L118") + ". A ReconnectStrategy of backoff.WithContext does.", "", r3labsContext},
			{prove.Reset, "", "The strategy's MaxElapsedTime of 15 minutes is counted from the first connection and never starts over: the first break after 15 minutes is final. " +
				link("client.go:118", "r3labs/sse/blob/v2.10.0/client.go#L118") + ", backoff.v1 retry.go:35 and exponential.go:117", "", r3labsFifteenMinutes},
		},
	},
	{
		name:     "launchdarkly/eventsource v1.11.0",
		promises: "With the options for reconnects: CanRetryFirstConnection(-1), ReadTimeout(1m), UseBackoff(30s), UseJitter(0.5), RetryResetInterval(1m). Each event is expected once.",
		serve:    serveSSE, run: runEventSource,
		notes: []note{
			{prove.Silent, "", "The read timeout begins with the body. A server that accepts the request and never sends a header is waited for; the HTTP client's ResponseHeaderTimeout would help. " +
				link("stream.go:129", "launchdarkly/eventsource/blob/v1.11.0/stream.go#L129"), "[ReadTimeout](https://pkg.go.dev/github.com/launchdarkly/eventsource#StreamOptionReadTimeout) restarts a connection without new data", eventSourceHeader},
			{prove.Late, "", "Until the first connection works, the loop does not look at the request's context; without a limit for the first connection it goes on. " +
				link("stream.go:151", "launchdarkly/eventsource/blob/v1.11.0/stream.go#L151"), "", eventSourceContext},
		},
	},
	{
		name:     "tmaxmax/go-sse v0.11.0",
		promises: "A Connection with the default Backoff. Each event is expected once. GivesUp.",
		serve:    serveSSE, run: runGoSSE, options: []reconnecttest.Option{givesUp},
		notes: []note{
			{prove.Silent, "", "There is no read timeout, and none is promised. " + link("client_connection.go:162", "tmaxmax/go-sse/blob/v0.11.0/client_connection.go#L162"), "", staysSilent(runGoSSE, sending(eventStream, 10*24*time.Hour))},
			{prove.Cap, "", "The default Backoff has no MaxInterval: waits grow by half each time. " + link("client.go:124", "tmaxmax/go-sse/blob/v0.11.0/client.go#L124"), "", goSSELongestWait},
		},
	},
	{
		name: "modelcontextprotocol/go-sdk v1.8.0, the streamable client",
		promises: "The client of docs/protocol.md with the protocol's version 2025-11-25, the last one in which a stream can be resumed, and a handler of log messages. " +
			"The stream of the server's messages \"automatically reconnects if interrupted\", and the client sends Last-Event-ID, so each message is expected once. GivesUp.",
		serve: serveMCP, run: runMCP, options: []reconnecttest.Option{givesUp},
		notes: []note{
			{prove.GaveUp, "", "Connect is not retried: MaxRetries is for streams that have worked. " +
				link("client.go:390", "modelcontextprotocol/go-sdk/blob/v1.8.0/mcp/client.go#L390"), "", mcpConnect},
			{prove.Unjudged, "", "The connection's mutex is held while its transport closes, which sends a DELETE and waits for up to 5 s for the reply: whoever calls meanwhile waits for that. " +
				link("conn.go:121", "modelcontextprotocol/go-sdk/blob/v1.8.0/internal/jsonrpc2/conn.go#L121") + ", " +
				link("streamable.go:2790", "modelcontextprotocol/go-sdk/blob/v1.8.0/mcp/streamable.go#L2790"), "", mcpMutex},
			{prove.Silent, "", "There is no read timeout, and none is promised. KeepAlive sends its pings on other connections. " +
				link("streamable.go:2623", "modelcontextprotocol/go-sdk/blob/v1.8.0/mcp/streamable.go#L2623"), "", staysSilent(runMCP, servingMCP(eventStream))},
			{prove.Late, "", "Connect requests the stream under a context of its own, and waits for the header, which a silent server does not send. " +
				link("streamable.go:2169", "modelcontextprotocol/go-sdk/blob/v1.8.0/mcp/streamable.go#L2169"), "", mcpContext},
			{prove.Repeated, "", "A stream that ends without an event leaves no Last-Event-ID for the next one, which begins anew: the id of the event before is forgotten. " +
				link("streamable.go:2523", "modelcontextprotocol/go-sdk/blob/v1.8.0/mcp/streamable.go#L2523") + ", " +
				link("streamable.go:2702", "modelcontextprotocol/go-sdk/blob/v1.8.0/mcp/streamable.go#L2702"), "", mcpSecond},
		},
	},
	{
		name:     "hashicorp/go-retryablehttp v0.7.8, a download",
		promises: "The default client reads a body of 12 lines. It promises to retry requests, not the reading of a body. GivesUp.",
		serve:    serveFile, run: runRetryableHTTP, options: []reconnecttest.Option{givesUp},
		notes: []note{
			{prove.GaveUp, "", "The retries end when the response's header has come: what breaks later is the caller's. " +
				link("client.go:719", "hashicorp/go-retryablehttp/blob/v0.7.8/client.go#L719"), "", retryableHTTPBody},
			{prove.Silent, "", "There is no timeout by default. HTTPClient.Timeout would end the whole download. " +
				link("client.go:442", "hashicorp/go-retryablehttp/blob/v0.7.8/client.go#L442"), "", staysSilent(runRetryableHTTP, silent)},
		},
	},
	{
		name:     "nats-io/nats.go v1.55.0, core",
		promises: "Connect and Subscribe with the default options. Core NATS delivers at most once; the server of this test repeats all events for each subscription, so repeated values are allowed and lost ones are not. GivesUp.",
		serve:    serveNATS, run: runNATS, options: []reconnecttest.Option{givesUp, atLeastOnce},
		notes: []note{
			{prove.GaveUp, "", "The first connection is not retried: it is a documented option, RetryOnFailedConnect. " + link("nats.go:1722", "nats-io/nats.go/blob/v1.55.0/nats.go#L1722"), "", natsFirstConnection},
			{prove.Open, "", "If a reconnect fails after the dial, in the handshake, its connection is not closed before the next one: its file is until the garbage collector finds it. " +
				link("nats.go:3581", "nats-io/nats.go/blob/v1.55.0/nats.go#L3581"), "", natsOpen},
		},
	},
	{
		name:     "redis/go-redis v9.23.0, Pub/Sub",
		promises: "Subscribe and Channel with the default options. Redis delivers at most once; the server of this test repeats all events for each subscription, so repeated values are allowed and lost ones are not.",
		serve:    serveRedis, run: runRedis, options: []reconnecttest.Option{atLeastOnce},
		notes: []note{
			{prove.Silent, "", "Every 3 s without a message a PING is written, but its reply is not waited for: the read has no timeout. Silence is noticed when the kernel refuses the next PING, after about 15 minutes on Linux. " +
				link("pubsub.go:731", "redis/go-redis/blob/v9.23.0/pubsub.go#L731") + ", " + link("pubsub.go:529", "redis/go-redis/blob/v9.23.0/pubsub.go#L529"), "[Channel](https://pkg.go.dev/github.com/redis/go-redis/v9#PubSub.Channel) pings and \"re-subscribes if ping can not received for 1 minute\"", redisSilence},
			{prove.Hot, "", "The first failed read after a message is followed by a dial at once: connections that break after a message each are a loop without a wait. " +
				link("pubsub.go:766", "redis/go-redis/blob/v9.23.0/pubsub.go#L766"), "", redisNoWait},
			{prove.Unjudged, "", "PubSub's mutex is held while it dials: whoever pings, receives or closes meanwhile waits for that. " + link("pubsub.go:67", "redis/go-redis/blob/v9.23.0/pubsub.go#L67"), "", redisMutex},
			{prove.Jitter, "", "A failed read is followed by a wait of 100 ms and another dial, without backoff or jitter. " + link("pubsub.go:766", "redis/go-redis/blob/v9.23.0/pubsub.go#L766"), "", redisWaits},
			{prove.Late, "", "The commands with which a connection begins have a background context, unless the option ContextTimeoutEnabled is set: they end with ReadTimeout, after 5 s. " +
				link("redis.go:1893", "redis/go-redis/blob/v9.23.0/redis.go#L1893") + ", " + link("options.go:741", "redis/go-redis/blob/v9.23.0/options.go#L741"), "", redisContext},
		},
	},
	{
		name:     "eclipse/paho.mqtt.golang v1.5.1",
		promises: "The default options and ConnectRetry; the subscription is made in OnConnect, as its README says. Quality of service 0; the server of this test repeats all events for each subscription, so repeated values are allowed and lost ones are not.",
		serve:    serveMQTT, run: runMQTT, options: []reconnecttest.Option{atLeastOnce},
		notes: []note{
			{prove.Left, "", "Disconnect does not end an attempt to connect, and its comment warns of what it leaves: the attempt waits for the server's reply for ConnectTimeout, 30 s, and then connects once more, with MQTT 3.1. " +
				link("client.go:416", "eclipse/paho.mqtt.golang/blob/v1.5.1/client.go#L416") + ", " + link("client.go:429", "eclipse/paho.mqtt.golang/blob/v1.5.1/client.go#L429"), "", mqttConnect},
			{prove.Cap, "", "MaxReconnectInterval is 10 minutes by default; the check expects at most 5. " + link("options.go:142", "eclipse/paho.mqtt.golang/blob/v1.5.1/options.go#L142"), "", mqttWaits},
			{prove.Jitter, "", "Waits double and have no random part. " + link("backoff.go:86", "eclipse/paho.mqtt.golang/blob/v1.5.1/backoff.go#L86"), "", mqttWaits},
		},
	},
	slackSubject,
	postgresSubject,
	consulSubject,
	ethereumSubject,
	informerSubject,
	kafkaSubject,
}
