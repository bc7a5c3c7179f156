package reconnect

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/hashicorp/consul/api/watch"
	"github.com/hashicorp/go-hclog"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

var consulSubject = subject{
	name:     "hashicorp/consul/api v1.34.4, a watch",
	promises: "A plan that watches a key, with the default Config. Its handler is called when the value changes: values may be skipped, the last one must come, and none twice.",
	fresh:    newConsul, options: []reconnecttest.Option{reconnecttest.Latest()},
	notes: []note{
		{prove.Silent, "", point("consul", 1, link("plan.go:78", consulFile+"#L78")), "", fails("consul", "TestSilentConnection")},
		{prove.Jitter, "", point("consul", 4, link("plan.go:95", consulFile+"#L95")), "", fails("consul", "TestJitter")},
	},
}

const consulFile = "hashicorp/consul/blob/api/v1.34.4/api/watch/plan.go"

func runConsul(ctx context.Context, dial dialFunc, got func(string)) error {
	config := api.DefaultConfig()
	config.Address, config.Transport.DialContext = "127.0.0.1:8500", dial
	defer config.Transport.CloseIdleConnections()
	client, err := api.NewClient(config)
	if err != nil {
		return err
	}
	plan, err := watch.Parse(map[string]any{"type": "key", "key": "event"})
	if err != nil {
		return err
	}
	plan.Handler = func(_ uint64, value any) {
		if pair, ok := value.(*api.KVPair); ok && pair != nil {
			got(string(pair.Value))
		}
	}
	defer context.AfterFunc(ctx, plan.Stop)()
	return plan.RunWithClientAndHclog(client, hclog.NewNullLogger())
}

// newConsul returns runConsul and a server of one key. A request with the index of the value waits for the next one,
// which comes 100 ms later; after the last one it waits for five minutes.
func newConsul() (serverRun, clientRun) {
	const first = 10 // the index when there is no value yet
	var value atomic.Int64
	return serveHTTP(func(w http.ResponseWriter, r *http.Request) {
		if known, _ := strconv.ParseInt(r.URL.Query().Get("index"), 10, 64); known >= first+value.Load() {
			wait := pace
			if value.Load() == events {
				wait = 5 * time.Minute
			}
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return
			}
			value.Store(min(value.Load()+1, events))
		}
		n := value.Load()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Consul-Index", strconv.FormatInt(first+n, 10))
		if n == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		text := base64.StdEncoding.EncodeToString(fmt.Append(nil, "event ", n))
		fmt.Fprintf(w, `[{"LockIndex":0,"Key":"event","Flags":0,"Value":%q,"CreateIndex":%d,"ModifyIndex":%d}]`, text, first+1, first+n)
	}), runConsul
}
