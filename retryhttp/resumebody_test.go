package retryhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz"

// breaks is a body that yields text and then fails with err.
func breaks(text string, err error) io.ReadCloser {
	return &testBody{Reader: io.MultiReader(strings.NewReader(text), readerFunc(func([]byte) (int, error) { return 0, err }))}
}

// part responds with a status, a body and header lines. A Content-Length among them is the response's too.
func part(code int, body io.ReadCloser, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := status(code, "", header...)(r)
		resp.Body, resp.ContentLength = body, -1
		if n := resp.Header.Get("Content-Length"); n != "" {
			resp.ContentLength, _ = strconv.ParseInt(n, 10, 64)
		}
		return resp, err
	}
}

// ranges records the ranges that are asked for.
type ranges struct {
	base http.RoundTripper
	got  []string
}

func (r *ranges) RoundTrip(req *http.Request) (*http.Response, error) {
	r.got = append(r.got, strings.TrimSpace(req.Header.Get("Range")+" "+req.Header.Get("If-Range")))
	return r.base.RoundTrip(req)
}

// resumed returns the response to a GET whose body is continued.
func resumed(t *testing.T, ctx context.Context, base http.RoundTripper, p retry.Policy, opts ...retryhttp.Option) *http.Response {
	t.Helper()
	resp, err := retryhttp.NewTransport(base, p, append(opts, retryhttp.ResumeBody(0))...).RoundTrip(get(t, ctx))
	must(t, err)
	return resp
}

// A body that breaks before its first byte is not continued by a range that begins nowhere.
func TestResumeBody_RestFromTheStart(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		const tag = `ETag: "v1"`
		s := newScript(part(200, breaks("", errCut), tag, "Content-Length: 10"), part(206, breaks(alphabet[:10], io.EOF), tag, "Content-Range: bytes x-9/10"))
		resp := resumed(t, t.Context(), s, constant(1))
		got, err := io.ReadAll(resp.Body)
		if len(got) != 0 || !errors.Is(err, errCut) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// The first response has ten bytes and breaks after four. Which second response continues it?
func TestResumeBody_Rest(t *testing.T) {
	rest := func(text string, header ...string) func(*http.Request) (*http.Response, error) {
		return part(206, breaks(text, io.EOF), header...)
	}
	const tag = `ETag: "v1"`
	for _, c := range []struct {
		name string
		rest func(*http.Request) (*http.Response, error)
		want string // the rest, or the reason
	}{
		{"the rest", rest("efghij", tag, "Content-Range: bytes 4-9/10", "Content-Length: 6"), "efghij"},
		{"the rest, without a Content-Length", rest("efghij", tag, "Content-Range: bytes 4-9/10"), "efghij"},
		{"the rest, in other letters", rest("efghij", tag, "Content-Range: Bytes 4-9/10"), "efghij"},
		{"more than its range", rest("efghijKLM", tag, "Content-Range: bytes 4-9/10"), "efghij"},
		{"the whole, as it was", part(200, breaks(alphabet[:10], io.EOF), tag, "Content-Length: 10"), "it has changed or cannot be sent in parts"},
		{"the whole, changed", part(200, breaks("0123456789", io.EOF), `ETag: "v2"`, "Content-Length: 10"), "it has changed or cannot be sent in parts"},
		{"416", part(416, breaks("", io.EOF), tag, "Content-Range: bytes */4"), "the server responded 416 Requested Range Not Satisfiable"},
		{"404", part(404, breaks("gone", io.EOF)), "the server responded 404 Not Found"},
		{"another ETag", rest("efghij", `ETag: "v2"`, "Content-Range: bytes 4-9/10"), `its ETag was "\"v1\"" and is "\"v2\""`},
		{"a weak ETag", rest("efghij", `ETag: W/"v1"`, "Content-Range: bytes 4-9/10"), `its ETag was "\"v1\"" and is "W/\"v1\""`},
		{"no ETag", rest("efghij", "Content-Range: bytes 4-9/10"), `its ETag was "\"v1\"" and is ""`},
		{"another length", rest("efghijk", tag, "Content-Range: bytes 4-10/11"), "its length was 10 and is 11"},
		{"an unknown length", rest("efghij", tag, "Content-Range: bytes 4-9/*"), `the Content-Range "bytes 4-9/*" is not one range of a known length`},
		{"another beginning", rest("defghij", tag, "Content-Range: bytes 3-9/10"), `the Content-Range "bytes 3-9/10" does not begin at 4`},
		{"several parts", rest("--x", tag, "Content-Type: multipart/byteranges; boundary=x"), `the Content-Range "" is not one range of a known length`},
		{"another unit", rest("efghij", tag, "Content-Range: lines 4-9/10"), `the Content-Range "lines 4-9/10" is not one range of a known length`},
		{"a range that ends nowhere", rest("efghij", tag, "Content-Range: bytes 4-x/10"), `the Content-Range "bytes 4-x/10" is not one range of a known length`},
		{"a range past its length", rest("efghij", tag, "Content-Range: bytes 4-10/10"), `the Content-Range "bytes 4-10/10" is not one range of a known length`},
		{"a range that ends before it begins", rest("efghij", tag, "Content-Range: bytes 4-3/10"), `the Content-Range "bytes 4-3/10" is not one range of a known length`},
		{"a range below 0", rest("efghij", tag, "Content-Range: bytes -4-9/10"), `the Content-Range "bytes -4-9/10" is not one range of a known length`},
		{"a Content-Length of something else", rest("efghij", tag, "Content-Range: bytes 4-9/10", "Content-Length: 5"), `the Content-Length 5 does not match the Content-Range "bytes 4-9/10"`},
		{"the Content-Length 0", rest("", tag, "Content-Range: bytes 4-9/10", "Content-Length: 0"), `the Content-Length 0 does not match the Content-Range "bytes 4-9/10"`},
		{"another coding", rest("efghij", tag, "Content-Range: bytes 4-9/10", "Content-Encoding: br"), `its Content-Encoding was "" and is "br"`},
		{"decompressed", func(r *http.Request) (*http.Response, error) {
			resp, err := rest("efghij", tag, "Content-Range: bytes 4-9/10")(r)
			resp.Uncompressed = true
			return resp, err
		}, "the base transport has decompressed the rest"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			s := newScript(part(200, breaks("abcd", errCut), tag, "Content-Length: 10"), c.rest)
			seen := &ranges{base: s}
			resp := resumed(t, t.Context(), seen, constant(3))
			got, err := io.ReadAll(resp.Body)
			if want := "abcd" + c.want; len(c.want) == 6 {
				if string(got) != want || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			} else {
				want := "retryhttp: GET http://user:xxxxx@example.test/path: the body broke after 4 of 10 bytes: connection reset by peer (not continued: "
				if string(got) != "abcd" || !errors.Is(err, errCut) || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), c.want+")") {
					t.Errorf("got %q, %v, want %q", got, err, c.want)
				}
				if _, again := resp.Body.Read(make([]byte, 1)); again != err {
					t.Errorf("read again: %v", again)
				}
			}
			if resp.Body.Close(); !s.bodies[0].closed.Load() || !s.bodies[1].closed.Load() {
				t.Error("a body is not closed")
			}
			s.expect(t, "0s 1s")
			if want := []string{"", `bytes=4- "v1"`}; !slices.Equal(seen.got, want) {
				t.Errorf("ranges %q, want %q", seen.got, want)
			}
		})
	}
}

// Which first responses can be continued?
func TestResumeBody_First(t *testing.T) {
	const (
		date     = "Date: Sun, 22 Nov 2026 12:00:00 GMT"
		modified = "Last-Modified: Sun, 22 Nov 2026 11:59:59 GMT"
		tag      = `ETag: "v1"`
		length   = "Content-Length: 10"
	)
	plain := func(r *http.Request) *http.Request { return r }
	ranged := func(text string) func(*http.Request) *http.Request {
		return func(r *http.Request) *http.Request {
			r.Header.Set("Range", text)
			r.Header.Set("If-Range", `"v1"`)
			return r
		}
	}
	for _, c := range []struct {
		name    string
		request func(*http.Request) *http.Request
		first   func(*http.Request) (*http.Response, error)
		want    string // If-Range, or the reason
	}{
		{"an ETag", plain, part(200, breaks("abcd", errCut), tag, length), `"v1"`},
		{"an ETag and a Last-Modified", plain, part(200, breaks("abcd", errCut), tag, date, modified, length), `"v1"`},
		{"a Last-Modified", plain, part(200, breaks("abcd", errCut), date, modified, length), "Sun, 22 Nov 2026 11:59:59 GMT"},
		{"a Last-Modified of the same second", plain, part(200, breaks("abcd", errCut), date, strings.Replace(date, "Date", "Last-Modified", 1), length), "its Last-Modified is not strong: it is not a second before its Date"},
		{"a Last-Modified without a Date", plain, part(200, breaks("abcd", errCut), modified, length), "its Last-Modified is not strong: it is not a second before its Date"},
		{"a Last-Modified that is no date", plain, part(200, breaks("abcd", errCut), date, "Last-Modified: yesterday", length), "the response has neither an ETag nor a Last-Modified"},
		{"no validator", plain, part(200, breaks("abcd", errCut), length), "the response has neither an ETag nor a Last-Modified"},
		{"a weak ETag", plain, part(200, breaks("abcd", errCut), `ETag: W/"v1"`, date, modified, length), `its ETag W/"v1" is not strong`},
		{"an ETag without quotes", plain, part(200, breaks("abcd", errCut), "ETag: v1", length), "its ETag v1 is not strong"},
		{"no length", plain, part(200, breaks("abcd", errCut), tag), "the response has neither a length nor Accept-Ranges"},
		{"no length, with ranges", plain, part(200, breaks("abcd", errCut), tag, "Accept-Ranges: bytes"), `"v1"`},
		{"no ranges", plain, part(200, breaks("abcd", errCut), tag, length, "Accept-Ranges: none"), "the server accepts no ranges"},
		{"an early end", plain, part(200, breaks("abcd", io.EOF), tag, length), `"v1"`},
		{"a Range of its own", ranged("bytes=2-"), part(206, breaks("cd", errCut), tag, "Content-Length: 8", "Content-Range: bytes 2-9/10"), `"v1"`},
		{"a part that is shorter than asked for", ranged("bytes=2-"), part(206, breaks("cdX", io.EOF), tag, "Content-Range: bytes 2-3/10"), `"v1"`},
		{"a Range that the server ignores", ranged("bytes=2-"), part(200, breaks("abcd", errCut), tag, length), `"v1"`},
		{"a closed Range", ranged("bytes=2-9"), part(206, breaks("cd", errCut), tag, "Content-Range: bytes 2-9/10"), `the request's Range "bytes=2-9" is not one open range, such as bytes=500-`},
		{"the last bytes", ranged("bytes=-8"), part(206, breaks("cd", errCut), tag, "Content-Range: bytes 2-9/10"), `the request's Range "bytes=-8" is not one open range, such as bytes=500-`},
		{"a Range without an end", ranged("bytes=2"), part(206, breaks("cd", errCut), tag, "Content-Range: bytes 2-9/10"), `the request's Range "bytes=2" is not one open range, such as bytes=500-`},
		{"several ranges", ranged("bytes=0-1,2-"), part(206, breaks("cd", errCut), tag, "Content-Range: bytes 2-9/10"), `the request's Range "bytes=0-1,2-" is not one open range, such as bytes=500-`},
		{"another unit", ranged("lines=2-"), part(206, breaks("cd", errCut), tag, "Content-Range: bytes 2-9/10"), `the request's Range "lines=2-" is not one open range, such as bytes=500-`},
		{"a part without a Range", plain, part(206, breaks("cd", errCut), tag, "Content-Range: bytes 2-9/10"), `the request's Range "" is not one open range, such as bytes=500-`},
		{"a part of an unknown length", ranged("bytes=2-"), part(206, breaks("cd", errCut), tag, "Content-Range: bytes 2-9/*"), `the Content-Range "bytes 2-9/*" is not one range of a known length`},
		{"another part", ranged("bytes=2-"), part(206, breaks("cd", errCut), tag, "Content-Range: bytes 1-9/10"), `the Content-Range "bytes 1-9/10" does not begin at 2`},
		{"a byte past the largest number", ranged("bytes=9223372036854775808-"), part(206, breaks("cd", errCut), tag, "Content-Range: bytes 2-9/10"), `the request's Range "bytes=9223372036854775808-" is not one open range, such as bytes=500-`},
		{"a part by Last-Modified", ranged("bytes=2-"), part(206, breaks("cd", errCut), date, modified, "Content-Range: bytes 2-9/10"), "the part has no strong ETag"},
		{"a part with a weak ETag", ranged("bytes=2-"), part(206, breaks("cd", errCut), `ETag: W/"v1"`, "Content-Range: bytes 2-9/10"), `its ETag W/"v1" is not strong`},
		{"decompressed", plain, func(r *http.Request) (*http.Response, error) {
			resp, err := part(200, breaks("abcd", errCut), tag, "Accept-Ranges: bytes")(r)
			resp.Uncompressed = true
			return resp, err
		}, "the base transport has decompressed the body"},
		{"trailers", plain, func(r *http.Request) (*http.Response, error) {
			resp, err := part(200, breaks("abcd", errCut), tag, "Accept-Ranges: bytes")(r)
			resp.Trailer = http.Header{"Digest": nil}
			return resp, err
		}, "the response has trailers"},
		{"a body that can be sent once", func(r *http.Request) *http.Request {
			r.Body = io.NopCloser(strings.NewReader("query"))
			return r
		}, part(200, breaks("abcd", errCut), tag, length), "the request's body can be sent only once"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			s := newScript(c.first, func(r *http.Request) (*http.Response, error) {
				return part(206, breaks("efghij", io.EOF), tag, date, modified, "Content-Range: bytes 4-9/10")(r)
			})
			seen := &ranges{base: s}
			resp, err := retryhttp.NewTransport(seen, constant(3), retryhttp.ResumeBody(0)).RoundTrip(c.request(get(t, t.Context())))
			must(t, err)
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if strings.HasPrefix(c.want, "the ") || strings.HasPrefix(c.want, "its ") {
				if string(got) != "abcd" && string(got) != "cd" || err == nil || !strings.HasSuffix(err.Error(), "(not continued: "+c.want+")") || !errors.Is(err, errCut) || len(seen.got) != 1 {
					t.Errorf("got %q, %v, ranges %q, want %q", got, err, seen.got, c.want)
				}
			} else if string(got) != alphabet[:10] && string(got) != alphabet[2:10] || err != nil || seen.got[1] != "bytes=4- "+c.want {
				t.Errorf("got %q, %v, ranges %q, want If-Range %q", got, err, seen.got, c.want)
			}
		})
	}
}

// Without the option, and for other requests and statuses, a body is what the base transport returns.
func TestResumeBody_OtherBodiesAreUnchanged(t *testing.T) {
	for _, c := range []struct {
		name, method string
		code         int
		opts         []retryhttp.Option
	}{
		{"without the option", "GET", 200, nil},
		{"POST", "POST", 200, []retryhttp.Option{retryhttp.ResumeBody(time.Second)}},
		{"404", "GET", 404, []retryhttp.Option{retryhttp.ResumeBody(time.Second)}},
	} {
		body := breaks("abcd", errCut)
		tr := retryhttp.NewTransport(newScript(part(c.code, body, `ETag: "v1"`, "Content-Length: 10")), constant(3), c.opts...)
		resp, err := tr.RoundTrip(request(t, t.Context(), c.method, nil))
		if err != nil || resp.Body != body {
			t.Errorf("%s: %v, another body", c.name, err)
		}
	}
}

// The policy's waits run in Read. Its count starts again with each byte.
func TestResumeBody_Policy(t *testing.T) {
	rest := func(at int, text string, err error) func(*http.Request) (*http.Response, error) {
		return part(206, breaks(text, err), `ETag: "v1"`, fmt.Sprintf("Content-Range: bytes %d-9/10", at))
	}
	first := func(r *http.Request) (*http.Response, error) {
		return part(200, breaks("abcd", errCut), `ETag: "v1"`, "Content-Length: 10")(r)
	}
	bubble(t, "waits", func(t *testing.T) {
		var notes []string
		p := retry.New(backoff.Linear(time.Second), retry.Limit(3),
			retry.OnRetry(func(ctx context.Context, e retry.Event) {
				notes = append(notes, fmt.Sprint("retry ", e.N, " ", e.Delay, " ", retryhttp.RequestFrom(ctx).URL.Path, " ", e.Err))
			}),
			retry.OnRecovered(func(_ context.Context, r retry.Recovery) { notes = append(notes, fmt.Sprint("recovered ", r.Down)) }),
			retry.OnDone(func(_ context.Context, r retry.Result) {
				notes = append(notes, fmt.Sprint("done ", r.Attempts, " ", r.Err))
			}))
		var attempts []int
		s := newScript(first, unavailable, rest(4, "", errCut), rest(4, "ef", errCut), failure(refused), status(503, "", "Retry-After: 5"), rest(6, "ghij", io.EOF))
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			attempts = append(attempts, stream.AttemptFrom(r.Context()))
			return s.RoundTrip(r)
		})
		expectSent(t, "200 abcdefghij", base, p, get(t, t.Context()), retryhttp.ResumeBody(0))
		s.expect(t, "0s 1s 3s 6s 7s 9s 14s")
		if want := []int{1, 2, 3, 4, 2, 3, 4}; !slices.Equal(attempts, want) {
			t.Errorf("attempts %v, want %v", attempts, want)
		}
		const broke = "retryhttp: GET http://user:xxxxx@example.test/path: the body broke after "
		want := []string{
			"done 1 <nil>",
			"retry 1 1s /path " + broke + "4 of 10 bytes: connection reset by peer",
			"retry 2 2s /path retryhttp: GET http://user:xxxxx@example.test/path: 503 Service Unavailable: busy",
			"retry 3 3s /path " + broke + "4 of 10 bytes: connection reset by peer",
			"recovered 6s", "done 4 <nil>",
			"retry 1 1s /path " + broke + "6 of 10 bytes: connection reset by peer",
			"retry 2 2s /path dial tcp: connection refused",
			"retry 3 5s /path retryhttp: GET http://user:xxxxx@example.test/path: 503 Service Unavailable",
			"recovered 8s", "done 4 <nil>",
		}
		if !slices.Equal(notes, want) {
			t.Errorf("hooks\n%s\nwant\n%s", strings.Join(notes, "\n"), strings.Join(want, "\n"))
		}
		for i, b := range s.bodies {
			if !b.closed.Load() {
				t.Errorf("body %d is not closed", i+1)
			}
		}
	})
	bubble(t, "gives up", func(t *testing.T) {
		s := newScript(first, failure(refused))
		resp := resumed(t, t.Context(), s, constant(2))
		_, err := io.ReadAll(resp.Body)
		if !errors.Is(err, errCut) || !errors.Is(err, retry.ErrLimit) || !errors.Is(err, refused) {
			t.Error(err)
		}
		s.expect(t, "0s 1s 2s")
	})
	bubble(t, "gives up after a status", func(t *testing.T) {
		s := newScript(first, unavailable)
		resp := resumed(t, t.Context(), s, constant(2))
		_, err := io.ReadAll(resp.Body)
		if e, ok := errors.AsType[*retryhttp.StatusError](err); !ok || e.StatusCode != 503 || !errors.Is(err, errCut) || !errors.Is(err, retry.ErrLimit) {
			t.Error(err)
		}
		if s.expect(t, "0s 1s 2s"); !s.bodies[2].closed.Load() {
			t.Error("the last response is not closed")
		}
	})
	bubble(t, "ends with a failure that is not retried", func(t *testing.T) {
		var results []string
		p := constant(3, retry.OnDone(func(_ context.Context, r retry.Result) { results = append(results, fmt.Sprint(r.Attempts, r.Err)) }))
		final := retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
			if o.Err == refused {
				return retryhttp.NotRetryable
			}
			return retryhttp.Unclassified
		})
		s := newScript(first, failure(refused))
		resp := resumed(t, t.Context(), s, p, final)
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, errCut) || !errors.Is(err, refused) {
			t.Error(err)
		}
		if want := []string{"1 <nil>", fmt.Sprint(2, refused)}; !slices.Equal(results, want) {
			t.Errorf("OnDone got %q, want %q", results, want)
		}
		s.expect(t, "0s 1s")
	})
	bubble(t, "gives up at once", func(t *testing.T) {
		s := newScript(first)
		resp := resumed(t, t.Context(), s, constant(0))
		_, err := io.ReadAll(resp.Body)
		want := "limit of 0 retries"
		if e, ok := err.(*retry.Error); !ok || !errors.Is(err, errCut) || !strings.Contains(e.Error(), want) || strings.Count(e.Error(), "broke") != 1 {
			t.Errorf("%v, want %q", err, want)
		}
	})
	bubble(t, "refuses what If refuses", func(t *testing.T) {
		s := newScript(first)
		p := constant(3, retry.If(func(err error) bool { return !errors.Is(err, errCut) }))
		resp := resumed(t, t.Context(), s, p)
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, errCut) {
			t.Error(err)
		}
		s.expect(t, "0s")
	})
	bubble(t, "a wait ends with the request's context", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2500*time.Millisecond, func() { cancel(errCause) })
		s := newScript(first, unavailable)
		resp := resumed(t, ctx, s, constant(9))
		_, err := io.ReadAll(resp.Body)
		if took := time.Since(s.start); !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) || took != 2500*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
	})
	bubble(t, "the end of the context is not continued", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newScript(part(200, &testBody{Reader: readerFunc(func([]byte) (int, error) {
			cancel(errCause)
			return 0, errCut
		})}, `ETag: "v1"`, "Content-Length: 10"))
		resp := resumed(t, ctx, s, constant(9))
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, errCut) || !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s.expect(t, "0s")
	})
	bubble(t, "Close ends a wait", func(t *testing.T) {
		s := newScript(first, unavailable)
		resp := resumed(t, t.Context(), s, constant(9))
		time.AfterFunc(2500*time.Millisecond, func() { resp.Body.Close() })
		_, err := io.ReadAll(resp.Body)
		if took := time.Since(s.start); !errors.Is(err, http.ErrBodyReadAfterClose) || took != 2500*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
			t.Error("a closed body was read")
		}
	})
	bubble(t, "Close ends an attempt", func(t *testing.T) {
		s := newScript(first, func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		})
		resp := resumed(t, t.Context(), s, constant(9))
		time.AfterFunc(time.Minute, func() { resp.Body.Close() })
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, http.ErrBodyReadAfterClose) || time.Since(s.start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(s.start))
		}
	})
	bubble(t, "a rest that comes after Close is closed", func(t *testing.T) {
		var body io.Closer
		s := newScript(first, func(r *http.Request) (*http.Response, error) {
			body.Close()
			return rest(4, "efghij", io.EOF)(r)
		})
		resp := resumed(t, t.Context(), s, constant(9))
		body = resp.Body
		if got, err := io.ReadAll(resp.Body); string(got) != "abcd" || !errors.Is(err, http.ErrBodyReadAfterClose) || !s.bodies[1].closed.Load() {
			t.Errorf("%q, %v; closed: %v", got, err, s.bodies[1].closed.Load())
		}
	})
	bubble(t, "a closed body is not continued", func(t *testing.T) {
		s := newScript(first)
		resp := resumed(t, t.Context(), s, constant(9))
		resp.Body.Close()
		if _, err := io.ReadAll(resp.Body); err != http.ErrBodyReadAfterClose {
			t.Error(err)
		}
		s.expect(t, "0s")
	})
	bubble(t, "nothing is left on the request's context", func(t *testing.T) {
		for _, bytes := range []int{0, 2, 5, 7, 9, 10} {
			ctx := &check.Parent{Context: t.Context()}
			s := newScript(first, rest(4, "ef", errCut), rest(6, "gh", errCut), rest(8, "ij", io.EOF))
			resp := resumed(t, ctx, s, constant(1))
			if n, err := io.ReadFull(resp.Body, make([]byte, bytes)); err != nil {
				t.Errorf("%d bytes of %d, %v", n, bytes, err)
			}
			resp.Body.Close()
			_, _ = io.ReadAll(resp.Body)
			if n := ctx.Waiting.Load(); n != 0 {
				t.Errorf("closed after %d bytes: %d children of the context are left", bytes, n)
			}
		}
	})
	bubble(t, "what was read is counted, before an early end of unknown length", func(t *testing.T) {
		s := newScript(part(200, breaks("abcd", errCut), `ETag: "v1"`, "Accept-Ranges: bytes"), rest(4, "ef", io.EOF), rest(6, "ghij", io.EOF))
		if got := send(t, s, constant(3), get(t, t.Context()), retryhttp.ResumeBody(0)); got != "200 abcdefghij" { // the second response has told the length
			t.Error(got)
		}
		s.expect(t, "0s 1s 2s")
	})
	bubble(t, "an error with bytes comes after them", func(t *testing.T) {
		s := newScript(part(200, &testBody{Reader: readerFunc(func(p []byte) (int, error) { return copy(p, "abcd"), errCut })}, `ETag: "v1"`, "Content-Length: 10"),
			part(206, &testBody{Reader: readerFunc(func(p []byte) (int, error) { return copy(p, "efghij"), io.EOF })}, `ETag: "v1"`, "Content-Range: bytes 4-9/10"))
		expectSent(t, "200 abcdefghij", s, constant(3), get(t, t.Context()), retryhttp.ResumeBody(0))
		s.expect(t, "0s 1s")
	})
	bubble(t, "an error after all bytes is returned", func(t *testing.T) {
		s := newScript(part(200, breaks("abcd", errCut), `ETag: "v1"`, "Content-Length: 4"))
		expectSent(t, "200 abcd and then "+errCut.Error(), s, constant(3), get(t, t.Context()), retryhttp.ResumeBody(0))
	})
	bubble(t, "hooks and Classify see the caller's request", func(t *testing.T) {
		req := request(t, t.Context(), "GET", io.NopCloser(strings.NewReader("query"))) // sent as a copy, with a buffered body
		seen := 0
		see := func(r *http.Request) {
			if seen++; r != req {
				t.Errorf("another request is seen: %v", r.Header)
			}
		}
		s := newScript(first, rest(4, "efghij", io.EOF))
		p := constant(3, retry.OnRetry(func(ctx context.Context, _ retry.Event) { see(retryhttp.RequestFrom(ctx)) }))
		resp, err := retryhttp.NewTransport(s, p, retryhttp.ResumeBody(0), retryhttp.BufferBody(10), retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
			see(o.Request)
			return retryhttp.Unclassified
		})).RoundTrip(req)
		if got := read(t, resp, err); got != "200 abcdefghij" || seen != 3 {
			t.Errorf("%s, seen %d times", got, seen)
		}
		s.expect(t, "0s:query 1s:query")
	})
	bubble(t, "parts are not checked", func(t *testing.T) {
		checked := 0
		s := newScript(first, rest(4, "efghij", io.EOF))
		resp, err := retryhttp.NewTransport(s, constant(3), retryhttp.ResumeBody(0), retryhttp.CheckBody(func(*http.Response) error {
			checked++
			return nil
		})).RoundTrip(get(t, t.Context()))
		if got := read(t, resp, err); got != "200 abcdefghij" || checked != 1 {
			t.Errorf("%s, checked %d times", got, checked)
		}
	})
}

// content serves a file with a validator.
func content(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

// A body that is silent for the time of ResumeBody is cut, and so is a response that does not come.
func TestResumeBody_Stall(t *testing.T) {
	for _, two := range []bool{false, true} {
		if !two && closeFreezes {
			continue
		}
		for _, timeout := range []time.Duration{0, 5 * time.Second, time.Hour} {
			bubble(t, fmt.Sprintf("HTTP/2 %t, attempt timeout %v", two, timeout), func(t *testing.T) {
				start, n := time.Now(), 0
				var at []string
				base := serveInBubble(t, two, func(w http.ResponseWriter, r *http.Request) {
					at = append(at, fmt.Sprint(time.Since(start), r.Header.Get("Range")))
					switch n++; n {
					case 1: // slow, but never silent for 10 s
						w.Header().Set("Content-Length", "10")
						w.Header().Set("ETag", `"v1"`)
						for i := range 4 {
							io.WriteString(w, alphabet[i:i+1])
							_ = http.NewResponseController(w).Flush()
							time.Sleep(9 * time.Second)
						}
						<-r.Context().Done()
					case 2: // never a header
						<-r.Context().Done()
					case 3: // never a byte
						w.Header().Set("Content-Range", "bytes 4-9/10")
						w.Header().Set("ETag", `"v1"`)
						w.WriteHeader(206)
						_ = http.NewResponseController(w).Flush()
						<-r.Context().Done()
					default:
						content([]byte(alphabet[:10]))(w, r)
					}
				})
				p := constant(5)
				if timeout > 0 {
					p = p.With(retry.AttemptTimeout(timeout))
				}
				client := http.Client{Transport: retryhttp.NewTransport(base, p, retryhttp.ResumeBody(10*time.Second))}
				resp, err := client.Do(get(t, t.Context()))
				expectBody(t, resp, err, "200 abcdefghij")
				header := 10 * time.Second
				if timeout == 5*time.Second {
					header = timeout
				}
				// The last byte comes after 27 s; then 10 s of silence, a second's wait, and so on.
				want := []string{"0s", "38sbytes=4-", fmt.Sprint(39*time.Second+header, "bytes=4-"), fmt.Sprint(50*time.Second+header, "bytes=4-")}
				if !slices.Equal(at, want) {
					t.Errorf("requests at %q, want %q", at, want)
				}
			})
		}
	}
	bubble(t, "the error says so", func(t *testing.T) {
		base := serveInBubble(t, closeFreezes, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "10")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		resp, err := retryhttp.NewTransport(base, constant(5), retryhttp.ResumeBody(10*time.Second)).RoundTrip(get(t, t.Context()))
		must(t, err)
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		e, ok := errors.AsType[net.Error](err)
		if !ok || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no byte of the body came for 10s") {
			t.Error(err)
		}
	})
	bubble(t, "the reader's own time does not count", func(t *testing.T) {
		base := serveInBubble(t, false, content([]byte(alphabet)))
		resp, err := retryhttp.NewTransport(base, constant(0), retryhttp.ResumeBody(time.Second)).RoundTrip(get(t, t.Context()))
		must(t, err)
		defer resp.Body.Close()
		_, _ = io.ReadFull(resp.Body, make([]byte, 3))
		time.Sleep(time.Hour)
		if rest, err := io.ReadAll(resp.Body); string(rest) != alphabet[3:] || err != nil {
			t.Errorf("got %q, %v", rest, err)
		}
	})
}

// cutWriter aborts the response after some bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p[:min(len(p), w.left)])
	if w.left -= n; w.left == 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// proxy forwards connections to a server, and cuts each after a number of bytes of its responses.
type proxy struct {
	net.Listener
	to    net.Addr
	after func() int64 // for each connection; -1 for never
	conns atomic.Int64
	all   sync.WaitGroup
}

func newProxy(t *testing.T, server net.Addr, after func() int64) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{Listener: l, to: server, after: after}
	p.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.conns.Add(1)
			limit := p.after()
			p.all.Go(func() { p.forward(conn, limit) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.all.Wait()
	})
	return p
}

// forward serves one request of the connection.
func (p *proxy) forward(conn net.Conn, limit int64) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	server, err := net.Dial(p.to.Network(), p.to.String())
	if err != nil {
		return
	}
	defer server.Close()
	req.Close = true
	if req.Write(server) != nil {
		return
	}
	if limit < 0 {
		_, _ = io.Copy(conn, server)
	} else {
		_, _ = io.CopyN(conn, server, limit)
	}
}

func (p *proxy) url() string { return "http://" + p.Addr().String() }

// servers runs a test with net/http's server of a file and, nightly, with nginx.
func servers(t *testing.T, data []byte, f func(t *testing.T, address net.Addr)) {
	t.Run("net/http", func(t *testing.T) {
		server := httptest.NewServer(content(data))
		defer server.Close()
		f(t, server.Listener.Addr())
	})
	t.Run("nginx", func(t *testing.T) { f(t, startNginx(t, data)) })
}

const nginxConfig = `daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
  access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  server { listen unix:%[1]s/socket; root %[1]s; location / { try_files /file =404; } }
}`

// startNginx starts nginx of Debian's package nginx-light with one file, and returns its address.
func startNginx(t *testing.T, data []byte) net.Addr {
	t.Helper()
	if os.Getenv("RETRYWHEN_NIGHTLY") != "1" {
		t.Skip("RETRYWHEN_NIGHTLY is not 1; the test needs nginx of Debian's package nginx-light")
	}
	dir := t.TempDir()
	socket := &net.UnixAddr{Name: filepath.Join(dir, "socket"), Net: "unix"} // a port could be taken before nginx listens
	config := filepath.Join(dir, "nginx.conf")
	for name, text := range map[string][]byte{"file": data, "nginx.conf": fmt.Appendf(nil, nginxConfig, dir)} {
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	server := exec.Command("nginx", "-c", config, "-e", filepath.Join(dir, "error.log"))
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	up := retry.New(backoff.Constant(20*time.Millisecond), retry.Within(5*time.Minute))
	if err := retry.Run(t.Context(), up, func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, socket.Network(), socket.String())
		if err == nil {
			conn.Close()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return socket
}

// The connection is cut after each byte of a small file's response, and then not.
func TestResumeBody_CutAtEveryByte(t *testing.T) {
	servers(t, []byte(alphabet), func(t *testing.T, address net.Addr) {
		var limit atomic.Int64
		limit.Store(-1)
		p := newProxy(t, address, func() int64 { return limit.Swap(-1) })
		client := &http.Client{Transport: retryhttp.NewTransport(&http.Transport{DisableKeepAlives: true}, quick(3), retryhttp.ResumeBody(time.Minute))}
		download := func() (*http.Response, string) {
			resp, err := client.Get(p.url())
			return resp, read(t, resp, err)
		}
		resp, got := download()
		whole, err := httputil.DumpResponse(resp, false)
		if want := "200 " + alphabet; got != want || err != nil {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
		const more = 100 // nginx's header is not dumped as it was sent
		broken := 0
		for i := range len(whole) + len(alphabet) + more {
			limit.Store(int64(i))
			before := p.conns.Load()
			if resp, got := download(); got != "200 "+alphabet {
				t.Fatalf("cut after %d bytes: %s %v", i, got, resp)
			}
			broken += int(p.conns.Load() - before - 1)
		}
		if least := len(whole) + len(alphabet) - more; broken < least || broken > least+2*more-1 {
			t.Errorf("%d downloads were cut, want all of a response with %d bytes of header", broken, len(whole))
		}
	})
}
