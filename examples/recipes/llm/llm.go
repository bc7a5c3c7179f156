// Package llm reads the tokens of a model's answer over server-sent events. There are three ways to go on when the
// connection breaks amid an answer, each with its price:
//
//   - Tokens retries only before the first token: a second request returns another answer. The user sees an error.
//   - Resumed with Sequence asks for the events after the last one. The server must keep the answer: OpenAI's
//     background mode does.
//   - Resumed with Prefix sends the text so far, for the model to continue it. It is paid for again, the seam may
//     show, and not each model takes it.
package llm

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Tokens returns the tokens of an answer. Each attempt makes a request, with a body and credentials of its own. An
// attempt fails if the server sends no line within silence, not even a comment, or if the response ends before parse
// has reported its end. "retry:" and Retry-After set the minimum delay. All calls of one server share a policy with
// retry.WithBudget.
func Tokens(client *http.Client, request func(context.Context) (*http.Request, error), parse Parse, silence time.Duration,
	policy retry.Policy) stream.Stream[string] {
	tokens := func(p part) string { return p.token }
	answer := operators.Map(parts(client, request, parse).Timeout(silence), tokens)
	return answer.Filter(func(token string) bool { return token != "" }).RetryWhen(policy.With(retry.BeforeFirstItem()))
}

// Resumed returns the tokens of an answer that is continued where it stopped. request gets the position: start at
// first, and then what after returns for the position before an event, its data and its token, which may be empty.
// Else it is as Tokens.
func Resumed[P any](client *http.Client, start P, request func(ctx context.Context, at P) (*http.Request, error), parse Parse,
	after func(at P, data, token string) P, silence time.Duration, policy retry.Policy) stream.Stream[string] {
	return operators.ResumeMarked(start, func(at P) stream.Stream[operators.Marked[string, P]] {
		ask := func(ctx context.Context) (*http.Request, error) { return request(ctx, at) }
		answer := parts(client, ask, parse).Timeout(silence)
		return func(ctx context.Context, yield func(operators.Marked[string, P]) bool) error {
			now := at
			return answer(ctx, func(p part) bool {
				if p.data != "" {
					now = after(now, p.data, p.token)
				}
				return yield(operators.Marked[string, P]{Value: p.token, At: now, Bookmark: p.token == ""})
			})
		}
	}, policy)
}

// part is an event of an answer, or a line without one: the zero part.
type part struct{ data, token string }

// respond returns a response with status 200.
func respond(ctx context.Context, client *http.Client, request func(context.Context) (*http.Request, error)) (*http.Response, error) {
	r, err := request(ctx)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(r)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	defer response.Body.Close()
	failure := retryhttp.NewStatusError(response) // dictates Retry-After
	if response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests {
		return nil, stream.Permanent(failure)
	}
	return nil, failure
}

// parts returns the events of one response.
func parts(client *http.Client, request func(context.Context) (*http.Request, error), parse Parse) stream.Stream[part] {
	return func(ctx context.Context, yield func(part) bool) error {
		response, err := respond(ctx, client, request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		name, data, wait := "", []string(nil), uint64(0)
		for body := bufio.NewReader(response.Body); ; {
			line, err := body.ReadString('\n') // a Scanner would deliver half a token when the connection is cut
			if err == io.EOF {
				err = io.ErrUnexpectedEOF // the answer has no end
			}
			var p part
			done := false
			switch field, value, colon := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); {
			case err != nil:
			case field == "retry":
				wait, _ = strconv.ParseUint(strings.TrimSpace(value), 10, 31)
			case field == "event":
				name = strings.TrimSpace(value)
			case field == "data":
				data = append(data, strings.TrimPrefix(value, " "))
			case field == "" && !colon: // the end of an event
				if p.data = strings.Join(data, "\n"); p.data != "" {
					p.token, done, err = parse(name, p.data)
				}
				name, data = "", nil
			}
			if err != nil {
				return retry.RetryAfter(err, time.Duration(wait)*time.Millisecond)
			}
			if !yield(p) || done { // lines without an event reset the Timeout
				return nil
			}
		}
	}
}
