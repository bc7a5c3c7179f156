package retryhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// validator is a header by which two responses have the same content.
type validator struct{ name, value string }

// strongValidator returns the strong validator of a response, or why there is none.
func strongValidator(h http.Header) (_ validator, reason string) {
	if tag := h.Get("Etag"); tag != "" {
		if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' {
			return validator{}, "its ETag " + tag + " is not strong"
		}
		return validator{"ETag", tag}, ""
	}
	value := h.Get("Last-Modified")
	modified, err := http.ParseTime(value)
	if err != nil {
		return validator{}, "the response has neither an ETag nor a Last-Modified"
	}
	if sent, err := http.ParseTime(h.Get("Date")); err != nil || sent.Sub(modified) < time.Second {
		return validator{}, "its Last-Modified is not strong: it is not a second before its Date"
	}
	return validator{"Last-Modified", value}, ""
}

// contentRange parses a Content-Range such as "bytes 5-9/10".
func contentRange(s string) (first, last, length int64, ok bool) {
	unit, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	bounds, complete, _ := strings.Cut(strings.TrimSpace(rest), "/")
	from, to, _ := strings.Cut(bounds, "-")
	var err [3]error
	first, err[0] = strconv.ParseInt(from, 10, 64)
	last, err[1] = strconv.ParseInt(to, 10, 64)
	length, err[2] = strconv.ParseInt(complete, 10, 64)
	ok = err == [3]error{} && strings.EqualFold(unit, "bytes") && first <= last && last < length // none has a sign
	return first, last, length, ok
}

// check returns the complete length, or why the response is not the rest of the body.
func (b *resumedBody) check(resp *http.Response) (length int64, err error) {
	if resp.StatusCode == http.StatusOK {
		return 0, errors.New("the server sends the content from its start, so it has changed or cannot be sent in parts")
	}
	if resp.StatusCode != http.StatusPartialContent {
		return 0, fmt.Errorf("the server responded %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	if resp.Uncompressed {
		return 0, errors.New("the base transport has decompressed the rest")
	}
	if encoding, ok := resp.Header["Content-Encoding"]; ok && encoding[0] != b.encoding {
		return 0, fmt.Errorf("its Content-Encoding was %q and is %q", b.encoding, encoding[0])
	}
	if value := resp.Header.Get(b.validator.name); value != b.validator.value {
		return 0, fmt.Errorf("its %s was %q and is %q", b.validator.name, b.validator.value, value)
	}
	length, err = part(resp, b.at)
	if err == nil && b.length >= 0 && length != b.length {
		return 0, fmt.Errorf("its length was %d and is %d", b.length, length)
	}
	return length, err
}

// part returns the complete length of the content of which the response, a 206, has a part that begins at the byte, and
// makes its body end with the part; or an error that says what is wrong.
func part(resp *http.Response, at int64) (length int64, err error) {
	text := resp.Header.Get("Content-Range") // multipart/byteranges has none
	first, last, length, ok := contentRange(text)
	switch {
	case !ok:
		return 0, fmt.Errorf("the Content-Range %q is not one range of a known length", text)
	case first != at:
		return 0, fmt.Errorf("the Content-Range %q does not begin at %d", text, at)
	case resp.ContentLength >= 0 && resp.ContentLength != last-first+1:
		return 0, fmt.Errorf("the Content-Length %d does not match the Content-Range %q", resp.ContentLength, text)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, last-first+1), resp.Body}
	return length, nil
}
