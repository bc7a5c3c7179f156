package retryhttp

import (
	"errors"
	"fmt"
	"net/http"
)

// bodyError is the error of a body that broke.
type bodyError struct {
	request    *http.Request
	at, length int64
	err        error
	reason     error // why it was not continued; nil while it may be
}

// because returns e with the reason why the body was not continued, or the reason itself if that says how the body
// broke.
func (e *bodyError) because(reason error) error {
	if _, ok := errors.AsType[*bodyError](reason); ok {
		return reason
	}
	because := *e
	because.reason = reason
	return &because
}

func (e *bodyError) Error() string {
	of := ""
	if e.length >= 0 {
		of = fmt.Sprintf(" of %d", e.length)
	}
	text := fmt.Sprintf("retryhttp: GET %s: the body broke after %d%s bytes: %v", e.request.URL.Redacted(), e.at, of, e.err)
	if e.reason != nil {
		text += fmt.Sprintf(" (not continued: %v)", e.reason)
	}
	return text
}

func (e *bodyError) Unwrap() []error {
	if e.reason == nil {
		return []error{e.err}
	}
	return []error{e.err, e.reason}
}
