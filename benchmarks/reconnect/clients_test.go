package reconnect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	donovanhide "github.com/donovanhide/eventsource"
	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/launchdarkly/eventsource"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"
	r3labs "github.com/r3labs/sse/v2"
	"github.com/redis/go-redis/v9"
	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

type (
	dialFunc  = func(ctx context.Context, network, addr string) (net.Conn, error)
	clientRun = func(ctx context.Context, dial dialFunc, got func(string)) error
)

// over returns an HTTP client that uses dial.
func over(dial dialFunc) (*http.Client, *http.Transport) {
	transport := &http.Transport{DialContext: dial}
	return &http.Client{Transport: transport}, transport
}

// root returns a request for what is at the root of a server.
func root(ctx context.Context) *http.Request {
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://server/", nil)
	return r
}

func runR3labs(ctx context.Context, dial dialFunc, got func(string)) error {
	client := r3labs.NewClient("http://server/events")
	var transport *http.Transport
	client.Connection, transport = over(dial)
	defer transport.CloseIdleConnections()
	return client.SubscribeWithContext(ctx, "messages", func(m *r3labs.Event) {
		if len(m.Data) > 0 {
			got(string(m.ID) + " " + string(m.Data))
		}
	})
}

// runEventSource has the package's options for reconnects.
func runEventSource(ctx context.Context, dial dialFunc, got func(string)) error {
	client, transport := over(dial)
	defer transport.CloseIdleConnections()
	s, err := eventsource.SubscribeWithRequestAndOptions(root(ctx),
		eventsource.StreamOptionHTTPClient(client),
		eventsource.StreamOptionCanRetryFirstConnection(-1),
		eventsource.StreamOptionReadTimeout(time.Minute),
		eventsource.StreamOptionUseBackoff(30*time.Second),
		eventsource.StreamOptionUseJitter(0.5),
		eventsource.StreamOptionRetryResetInterval(time.Minute),
		eventsource.StreamOptionErrorHandler(func(error) eventsource.StreamErrorHandlerResult { return eventsource.StreamErrorHandlerResult{} }))
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-s.Events:
			if !ok {
				return errors.New("the stream was closed")
			}
			got(e.Id() + " " + e.Data())
		}
	}
}

func runGoSSE(ctx context.Context, dial dialFunc, got func(string)) error {
	client, transport := over(dial)
	defer transport.CloseIdleConnections()
	c := &sse.Client{HTTPClient: client, Backoff: sse.DefaultClient.Backoff}
	conn := c.NewConnection(root(ctx))
	conn.SubscribeToAll(func(e sse.Event) { got(e.LastEventID + " " + e.Data) })
	return conn.Connect()
}

// runDonovanhide reads errors too, as the package waits for that.
func runDonovanhide(ctx context.Context, dial dialFunc, got func(string)) error {
	client, transport := over(dial)
	defer transport.CloseIdleConnections()
	s, err := donovanhide.SubscribeWith("", client, root(ctx))
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Errors:
		case e := <-s.Events:
			got(e.Id() + " " + e.Data())
		}
	}
}

// mcpVersion is the last version of the protocol in which a stream can be resumed.
const mcpVersion = "2025-11-25"

// runMCP is the client of docs/protocol.md, with a handler for the server's log messages.
func runMCP(ctx context.Context, dial dialFunc, got func(string)) error {
	client, transport := over(dial)
	defer transport.CloseIdleConnections()
	options := &mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { got(fmt.Sprint(r.Params.Data)) }}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, options).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: "http://server/mcp", HTTPClient: client}, &mcp.ClientSessionOptions{ProtocolVersion: mcpVersion})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = session.Close() })()
	return session.Wait()
}

func runRetryableHTTP(ctx context.Context, dial dialFunc, got func(string)) error {
	client := retryablehttp.NewClient()
	client.Logger = nil
	var transport *http.Transport
	client.HTTPClient, transport = over(dial)
	defer transport.CloseIdleConnections()
	request, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, "http://server/file", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for body := bufio.NewReader(response.Body); ; {
		line, err := body.ReadString('\n')
		switch {
		case err == nil:
			got(line)
		case err == io.EOF && line == "":
			return nil
		default:
			return err
		}
	}
}

type natsDialer struct {
	ctx  context.Context
	dial dialFunc
}

func (d natsDialer) Dial(network, address string) (net.Conn, error) {
	return d.dial(d.ctx, network, address)
}

func runNATS(ctx context.Context, dial dialFunc, got func(string)) error {
	closed := make(chan struct{})
	conn, err := nats.Connect("nats://127.0.0.1:4222", nats.SetCustomDialer(natsDialer{ctx, dial}),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		return err
	}
	if _, err := conn.Subscribe("events", func(m *nats.Msg) { got(string(m.Data)) }); err != nil {
		return err
	}
	select {
	case <-closed:
		return errors.Join(errors.New("the connection was closed"), conn.LastError())
	case <-ctx.Done():
		conn.Close()
		<-closed
		return ctx.Err()
	}
}

func runRedis(ctx context.Context, dial dialFunc, got func(string)) error {
	db := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: dial, Protocol: 2})
	defer db.Close()
	subscription := db.Subscribe(ctx, "events")
	defer subscription.Close()
	for messages := subscription.Channel(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m, ok := <-messages:
			if !ok {
				return errors.New("the channel was closed")
			}
			got(m.Payload)
		}
	}
}

func runMQTT(ctx context.Context, dial dialFunc, got func(string)) error {
	mqtt.ERROR = log.New(io.Discard, "", 0)
	options := mqtt.NewClientOptions().AddBroker("tcp://server:1883").SetClientID("client").SetConnectRetry(true)
	options.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) { return dial(ctx, "tcp", "server:1883") })
	options.SetOnConnectHandler(func(c mqtt.Client) {
		c.Subscribe("events", 0, func(_ mqtt.Client, m mqtt.Message) { got(string(m.Payload())) })
	})
	client := mqtt.NewClient(options)
	client.Connect()
	<-ctx.Done()
	client.Disconnect(250)
	return ctx.Err()
}

type event struct {
	ID   int    `json:"id,omitempty"`
	Data string `json:"data,omitempty"`
}

// runWebSocket is the recipe of examples/recipes/websocket.
func runWebSocket(ctx context.Context, dial dialFunc, got func(string)) error {
	client, transport := over(dial)
	defer transport.CloseIdleConnections()
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.ResetAfterItems(1))
	open := func(at int) stream.Stream[event] {
		var connection stream.Stream[event] = func(ctx context.Context, yield func(event) bool) error {
			conn, _, err := websocket.Dial(ctx, "ws://server/", &websocket.DialOptions{HTTPClient: client})
			if err != nil {
				return err
			}
			defer conn.CloseNow()
			err = wsjson.Write(ctx, conn, map[string]int{"subscribe_after": at})
			for err == nil {
				var e event
				if err = wsjson.Read(ctx, conn, &e); err == nil && !yield(e) {
					return nil
				}
			}
			return err
		}
		return connection.Timeout(30 * time.Second).Filter(func(e event) bool { return e.ID != 0 })
	}
	return operators.Resume(0, open, func(_ int, e event) int { return e.ID }, policy).ForEach(ctx, func(e event) { got(e.Data) })
}
