// Package llm reads the tokens of a model's answer over server-sent events. A second request would return another
// answer, so the request is retried only before the first token.
package llm

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Tokens returns the tokens of the answer to a prompt. An attempt fails if the server sends no line within silence, not
// even a comment, or if the response ends without "[DONE]". "retry:" and Retry-After set the minimum delay.
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
			if response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests {
				return stream.Permanent(errors.New(response.Status))
			}
			return dictated(errors.New(response.Status), response.Header.Get("Retry-After"), time.Second)
		}
		lines, wait, token := bufio.NewScanner(response.Body), "", ""
		for ; lines.Scan(); token = "" {
			field, value, _ := strings.Cut(lines.Text(), ":")
			switch value = strings.TrimPrefix(value, " "); field {
			case "retry":
				wait = value
			case "data":
				token = value
			}
			if token == "[DONE]" || !yield(token) {
				return nil
			}
		}
		return dictated(cmp.Or(lines.Err(), io.ErrUnexpectedEOF), wait, time.Millisecond)
	}
	return answer.Timeout(silence).Filter(func(token string) bool { return token != "" }).RetryWhen(policy.With(retry.BeforeFirstItem()))
}

func dictated(err error, wait string, unit time.Duration) error {
	if n, parseErr := strconv.ParseUint(wait, 10, 31); parseErr == nil {
		return retry.RetryAfter(err, time.Duration(n)*unit)
	}
	return err
}
