package prove

import (
	"bytes"
	"io"
	"net/http"
)

// passing passes requests on, as they are.
var passing = &http.Transport{DisableKeepAlives: true, DisableCompression: true}

// pass passes a request on to the server.
func (c Calls) pass(r *http.Request, body []byte) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", c.Server, ""
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	out.Header.Del("Expect")
	return passing.RoundTrip(out)
}
