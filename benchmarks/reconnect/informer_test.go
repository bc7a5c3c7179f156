package reconnect

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

var informerSubject = subject{
	name: "k8s.io/client-go v0.37.2, a shared informer",
	promises: "An informer with the dynamic client, over HTTP/2 with TLS and the default timeouts. The server says 410 Gone to a watch that begins more than 4 versions back. " +
		"Each object is expected to be added once, in any order.",
	fresh: newInformer, options: []reconnecttest.Option{reconnecttest.AnyOrder()},
	notes: []note{
		{prove.Late, "", point("client-go", 1, link("reflector.go:817", reflectorFile+"#L817")), "", fails("client-go", "TestTheContextEndsAWait")},
		{prove.Hot, "", point("client-go", 2, link("reflector.go:642", reflectorFile+"#L642")),
			"", fails("client-go", "TestWaitAfterAShortWatch")},
	},
}

const reflectorFile = "kubernetes/client-go/blob/v0.37.2/tools/cache/reflector.go"

// tlsServer has a certificate.
var tlsServer = sync.OnceValue(func() *httptest.Server {
	klog.SetLogger(klog.Logger{}) // that logs nothing
	server := httptest.NewUnstartedServer(nil)
	server.EnableHTTP2 = true
	server.StartTLS()
	server.Close()
	return server
})

// newInformer returns an informer and an apiServer to which an object is added every 100 ms, from the first request on.
func newInformer() (serverRun, clientRun) {
	api := newAPIServer()
	var begin sync.Once
	handler := func(w http.ResponseWriter, r *http.Request) {
		begin.Do(func() {
			go func() {
				for n := range events {
					time.Sleep(pace)
					_ = api.add(context.Background(), prove.Run{Name: "events"}, n)
				}
			}()
		})
		api.handler().ServeHTTP(w, r)
	}
	return func(ctx context.Context, l net.Listener) {
			server := &http.Server{Handler: http.HandlerFunc(handler), TLSConfig: tlsServer().TLS.Clone(), ErrorLog: log.New(io.Discard, "", 0)}
			defer context.AfterFunc(ctx, func() { _ = server.Close() })()
			_ = server.ServeTLS(l, "", "")
		}, func(ctx context.Context, dial dialFunc, got func(string)) error {
			return runInformer(ctx, &rest.Config{Host: "https://127.0.0.1", Dial: dial}, "events", got)
		}
}

// runInformer runs an informer of a namespace's config maps.
func runInformer(ctx context.Context, config *rest.Config, namespace string, got func(string)) error {
	config.Insecure = true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer func() {
		time.Sleep(10 * time.Millisecond) // until net/http has forgotten the request that the context ended
		utilnet.CloseIdleConnectionsFor(client.Transport)
	}()
	resources, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return err
	}
	informer := dynamicinformer.NewFilteredDynamicSharedInformerFactory(resources, 0, namespace, nil).
		ForResource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) { got(added.(*unstructured.Unstructured).GetName()) },
	}); err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}
