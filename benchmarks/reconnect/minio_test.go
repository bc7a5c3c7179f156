package reconnect

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// serveMinIO sends all events to each listener, and then pings.
var serveMinIO = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("location") {
		fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
		return
	}
	for n := 1; r.Context().Err() == nil; n++ {
		if n <= events {
			time.Sleep(pace)
			fmt.Fprintf(w, `{"Records":[{"eventName":"s3:ObjectCreated:Put","s3":{"object":{"key":"event-%d"}}}]}`+"\n", n)
		} else {
			time.Sleep(heartbeat)
			fmt.Fprintln(w, `{"Records":[]}`)
		}
		_ = http.NewResponseController(w).Flush()
	}
})

func runMinIO(ctx context.Context, dial dialFunc, got func(string)) error {
	transport, err := minio.DefaultTransport(false)
	if err != nil {
		return err
	}
	transport.DialContext = dial
	defer transport.CloseIdleConnections()
	client, err := minio.New("server", &minio.Options{Creds: credentials.NewStaticV4("key", "secret", ""), Region: "us-east-1", Transport: transport})
	if err != nil {
		return err
	}
	for info := range client.ListenBucketNotification(ctx, "bucket", "", "", []string{"s3:ObjectCreated:*"}) {
		for _, r := range info.Records {
			got(r.S3.Object.Key)
		}
		if info.Err != nil {
			err = info.Err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the channel was closed: %w", err)
}

var minioSubject = subject{
	name:     "minio/minio-go v7.4.1, ListenBucketNotification",
	promises: "A listener with the default options; it goes on after an error. GivesUp, AtLeastOnce.",
	serve:    serveMinIO, run: runMinIO, options: []reconnecttest.Option{givesUp, atLeastOnce},
	notes: []note{
		{prove.Silent, "", "The server is asked for a ping each 10 s, and nobody waits for it. " + link("api-bucket-notification.go:162", minioFiles+"api-bucket-notification.go#L162"), "",
			staysSilent(runMinIO, sending("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 10*24*time.Hour))},
		{prove.Late, "", "The wait before the next request, up to 30 s, does not end with the context. " + link("retry-continous.go:65", minioFiles+"retry-continous.go#L65"), "", minioWait},
	},
}

const minioFiles = "minio/minio-go/blob/v7.4.1/"

// minioWait shows a listener whose context ends while it waits.
func minioWait(t *testing.T) {
	visit(t, runMinIO, func(s *server, ended <-chan error, cancel func()) {
		for before := 0; s.connections() < 20 || s.connections() == before; { // until a connection has just ended
			before = s.connections()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Millisecond)
		if cancel(); hasEnded(ended) {
			t.Error("it has ended")
		}
	}, sending("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0))
}
