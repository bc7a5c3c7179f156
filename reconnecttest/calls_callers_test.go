package reconnecttest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/reconnecttest"
)

// byLoop is a caller that retries in a loop by hand. The zero byLoop has no fault.
type byLoop struct {
	method    string                    // GET
	attempts  int                       // 5; negative: no limit
	timeout   time.Duration             // 5 s; negative: none
	wait      func(n int) time.Duration // after n failures
	sleep     func(context.Context, time.Duration) error
	ignores   func(header string) bool // a Retry-After
	retries   func(status int) bool
	refuses   bool               // it does not retry errors
	key       func(n int) string // for idempotency, of the n-th attempt
	body      func(n int) io.Reader
	header    func(n int, h http.Header)
	read      func(io.Reader) ([]byte, error)
	keepsBody bool                                                 // that of a failure is not closed
	swallows  bool                                                 // a failure is no error
	before    func(ctx context.Context, client *http.Client) error // each attempt
	failed    func(ctx context.Context, status int)                // after a failure
	transport func(*http.Transport)
	layers    int // of such loops, 0 is 1
}

const longestRetryAfter = time.Minute

func (c byLoop) caller(dial reconnecttest.Dial) func(context.Context) (string, error) {
	transport := &http.Transport{DialContext: dial}
	if c.transport != nil {
		c.transport(transport)
	}
	client := &http.Client{Transport: transport}
	call := func(ctx context.Context) (string, error) { return c.call(ctx, client) }
	for range c.layers {
		inner := call
		call = func(ctx context.Context) (result string, err error) {
			for range 5 {
				if result, err = inner(ctx); err == nil {
					break
				}
			}
			return result, err
		}
	}
	return call
}

func (c byLoop) call(ctx context.Context, client *http.Client) (result string, err error) {
	if c.attempts == 0 {
		c.attempts = 5
	}
	for n := 1; ; n++ {
		var status int
		var after string
		result, status, after, err = c.attempt(ctx, client, n)
		if err == nil && status == 0 {
			return result, nil
		}
		again := err != nil && !c.refuses
		if status != 0 {
			again = c.retries == nil && slices.Contains([]int{408, 425, 429, 500, 502, 503, 504}, status) || c.retries != nil && c.retries(status)
			err = fmt.Errorf("status %d", status)
		}
		wait := c.wait
		if wait == nil {
			wait = func(n int) time.Duration { return time.Second<<(n-1) + rand.N(500*time.Millisecond<<(n-1)) }
		}
		d := wait(n)
		if after != "" && (c.ignores == nil || !c.ignores(after)) {
			if s, failed := strconv.Atoi(after); failed == nil {
				d = max(d, time.Duration(s)*time.Second)
			} else if at, failed := http.ParseTime(after); failed == nil {
				d = max(d, time.Until(at))
			}
			again = again && d <= max(longestRetryAfter, time.Duration(n)*10*time.Minute)
		}
		if !again || n == c.attempts {
			if c.swallows {
				return "", nil
			}
			return "", err
		}
		if c.failed != nil {
			c.failed(ctx, status)
		}
		sleep := c.sleep
		if sleep == nil {
			sleep = sleepUnder
		}
		if err := sleep(ctx, d); err != nil {
			return "", err
		}
	}
}

func sleepUnder(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt returns a status that is not 200, if there is one.
func (c byLoop) attempt(ctx context.Context, client *http.Client, n int) (result string, status int, after string, err error) {
	if c.timeout >= 0 {
		d := c.timeout
		if d == 0 {
			d = 5 * time.Second
		}
		one, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		ctx = one
	}
	if c.before != nil {
		if err := c.before(ctx, client); err != nil {
			return "", 0, "", err
		}
	}
	method := http.MethodGet
	if c.method != "" {
		method = c.method
	}
	var body io.Reader
	if c.body != nil {
		body = c.body(n)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:80/item", body)
	if err != nil {
		return "", 0, "", err
	}
	if c.key != nil {
		req.Header.Set("Idempotency-Key", c.key(n))
	}
	if c.header != nil {
		c.header(n, req.Header)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", 0, "", err
	}
	if resp.StatusCode == http.StatusOK || !c.keepsBody {
		defer func() { _ = resp.Body.Close() }()
	}
	if resp.StatusCode != http.StatusOK {
		return "", resp.StatusCode, resp.Header.Get("Retry-After"), nil
	}
	read := c.read
	if read == nil {
		read = io.ReadAll
	}
	all, err := read(resp.Body)
	return string(all), 0, "", err
}

// pooled is a caller with a pool of one connection, by hand.
type pooled struct{ looks bool }

func (c pooled) caller(dial reconnecttest.Dial) func(context.Context) (string, error) {
	idle := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	client := &http.Client{Transport: idle}
	calls := 0
	return func(ctx context.Context) (string, error) {
		if calls++; calls == 2 && !c.looks {
			return "", errors.New("write: broken pipe")
		}
		return byLoop{}.call(ctx, client)
	}
}

// refreshing is a caller that gets another token after a 401, in the next attempt and under its timeout.
func refreshing(dial reconnecttest.Dial) func(context.Context) (string, error) {
	valid := true
	c := byLoop{timeout: 2 * time.Second, retries: func(status int) bool { return status == http.StatusUnauthorized || status >= 500 && status != 501 }}
	c.before = func(ctx context.Context, client *http.Client) error {
		if valid {
			return nil
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://127.0.0.1:80/token", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		valid = true
		return resp.Body.Close()
	}
	c.header = func(_ int, h http.Header) { h.Set("Authorization", "token") }
	c.failed = func(_ context.Context, status int) { valid = valid && status != http.StatusUnauthorized }
	return c.caller(dial)
}

// broken is a caller with a circuit breaker, which opens after five failures in a row, for half a minute.
func broken(dial reconnecttest.Dial) func(context.Context) (string, error) {
	call := byLoop{attempts: 2}.caller(dial)
	failures, openUntil := 0, time.Time{}
	return func(ctx context.Context) (string, error) {
		if time.Now().Before(openUntil) {
			return "", errors.New("the breaker is open")
		}
		result, err := call(ctx)
		if failures++; err == nil {
			failures = 0
		} else if failures >= 5 {
			openUntil = time.Now().Add(30 * time.Second)
		}
		return result, err
	}
}

// hedged is a caller that asks a second time when there is no answer for 300 ms.
func hedged(dial reconnecttest.Dial) func(context.Context) (string, error) {
	call := byLoop{attempts: 1}.caller(dial)
	type answer struct {
		result string
		err    error
	}
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		answers := make(chan answer, 2)
		ask := func() {
			result, err := call(ctx)
			answers <- answer{result, err}
		}
		go ask()
		select {
		case a := <-answers:
			return a.result, a.err
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		go ask()
		a := <-answers
		return a.result, a.err
	}
}

// streams is a caller whose body can be read only once.
func streams(dial reconnecttest.Dial) func(context.Context) (string, error) {
	return byLoop{method: http.MethodPut, attempts: 1, body: func(int) io.Reader { return io.MultiReader(bytes.NewReader([]byte("a")), bytes.NewReader([]byte("b"))) }}.caller(dial)
}
