// Package llm reads the tokens of a model's answer over server-sent events. A second request would return another
// answer, so the request is retried only before the first token.
package llm

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Tokens returns the tokens of the answer to a prompt. An attempt fails if the server sends no line within silence, not
// even a comment, or if the response ends without "[DONE]". "retry:" and Retry-After set the minimum delay. All calls
// of one server share a policy with retry.WithBudget.
func Tokens(client *http.Client, url, prompt string, silence time.Duration, policy retry.Policy) stream.Stream[string] {
	var answer stream.Stream[string] = func(ctx context.Context, yield func(string) bool) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(prompt))
		if err != nil {
			return stream.Permanent(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			failure := retryhttp.NewStatusError(response) // dictates Retry-After
			if response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests {
				return stream.Permanent(failure)
			}
			return failure
		}
		for body, wait, data := bufio.NewReader(response.Body), uint64(0), []string(nil); ; {
			line, err := body.ReadString('\n') // a Scanner would deliver half a token when the connection is cut
			if err != nil {
				return retry.RetryAfter(err, time.Duration(wait)*time.Millisecond)
			}
			token := ""
			switch field, value, colon := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); {
			case field == "retry":
				wait, _ = strconv.ParseUint(strings.TrimSpace(value), 10, 31)
			case field == "data":
				data = append(data, strings.TrimPrefix(value, " "))
			case field == "" && !colon: // the end of an event
				token, data = strings.Join(data, "\n"), nil
			}
			if token == "[DONE]" || !yield(token) { // empty ones reset the Timeout
				return nil
			}
		}
	}
	return answer.Timeout(silence).Filter(func(token string) bool { return token != "" }).RetryWhen(policy.With(retry.BeforeFirstItem()))
}
