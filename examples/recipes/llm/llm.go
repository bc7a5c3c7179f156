// Package llm reads the tokens of a model's answer over server-sent events. A second request would give another answer,
// so it is retried only before the first token.
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

// Tokens returns the tokens of the answer to a prompt. A server that sends no line for the time of silence, not even a
// comment, has failed; so has one that ends without "[DONE]". Its "retry:" and Retry-After dictate the least delay.
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
