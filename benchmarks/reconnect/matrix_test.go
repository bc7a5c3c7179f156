package reconnect

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"maunium.net/go/mautrix"
	matrix "maunium.net/go/mautrix/event"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// serveMatrix answers a sync with the event that follows, or after the timeout with none.
var serveMatrix = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/filter") {
		fmt.Fprint(w, `{"filter_id":"1"}`)
		return
	}
	n, _ := strconv.Atoi(r.FormValue("since"))
	timeout, _ := strconv.Atoi(r.FormValue("timeout"))
	if n++; n > events {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Duration(timeout) * time.Millisecond):
		}
		fmt.Fprintf(w, `{"next_batch":"%d"}`, n-1)
		return
	}
	time.Sleep(pace)
	fmt.Fprintf(w, `{"next_batch":"%d","rooms":{"join":{"!room:server":{"timeline":{"events":[{"type":"m.room.message","event_id":"$%[1]d","sender":"@b:server","content":{"msgtype":"m.text","body":"event %[1]d"}}]}}}}}`, n)
})

func runMatrix(ctx context.Context, dial dialFunc, got func(string)) error {
	client, err := mautrix.NewClient("http://server", "@a:server", "token")
	if err != nil {
		return err
	}
	client.Log = zerolog.Nop()
	_, transport := over(dial)
	client.Client.Transport = transport // its timeout is the default
	defer transport.CloseIdleConnections()
	client.Syncer.(mautrix.ExtensibleSyncer).OnEventType(matrix.EventMessage, func(_ context.Context, e *matrix.Event) { got(e.Content.AsMessage().Body) })
	return client.SyncWithContext(ctx)
}

var matrixSubject = subject{
	name:     "mautrix/go v0.32.0, SyncWithContext",
	promises: "A client with the default Syncer, store and timeout. Each event is expected once. GivesUp.",
	serve:    serveMatrix, run: runMatrix, options: []reconnecttest.Option{givesUp},
	notes: []note{
		{prove.GaveUp, "", "The filter that a sync begins with is made once. " + link("client.go:254", matrixFiles+"client.go#L254"), "", endsAtFirst(runMatrix)},
		{prove.Jitter, "", "Each wait after a sync that failed is 10 s. " + link("sync.go:199", matrixFiles+"sync.go#L199"), "Documented: OnFailedSync can be replaced",
			equalWaits(runMatrix, sending("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n"+`{"filter_id":"1"}`, 0), nil)},
	},
}

const matrixFiles = "mautrix/go/blob/v0.32.0/"
