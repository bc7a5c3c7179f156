package retry_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// storyDrivers are the ways to run an operation under a policy.
var storyDrivers = map[string]func(ctx context.Context, p retry.Policy, story *play) error{
	"Run": func(ctx context.Context, p retry.Policy, story *play) error {
		return retry.Run(ctx, p, func(ctx context.Context) error { return story.attempt(ctx, func() {}) })
	},
	"Attempts": func(ctx context.Context, p retry.Policy, story *play) error {
		for a, err := range p.Attempts(ctx) {
			if err != nil {
				return err
			}
			a.Fail(story.attempt(ctx, a.Reset))
		}
		return nil
	},
	"RetryWhen": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(p).ForEach(ctx, func(int) {})
	},
	"RetryWhen/a pointer": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(&p).ForEach(ctx, func(int) {})
	},
	"RetryWhen/Around, TakeUntilDone": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(p.Around(func(answers failures) failures {
			return answers.TakeUntilDone(make(chan struct{}))
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/Around, Merge": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(p.Around(func(answers failures) failures {
			return answers.Merge(stream.Never[stream.Failure]())
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/embedded, another one derived": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(derives{p}).ForEach(ctx, func(int) {})
	},
	"RetryWhen/derived, Around": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
			return p.With().Around(func(answers failures) failures { return answers.Buffer(1) }).Handle(all)
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/WithClock, Merge": func(ctx context.Context, p retry.Policy, story *play) error {
		p = p.With(retry.WithClock(ownClock{}))
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
			return p.Handle(all).Merge(all.Delay(time.Hour))
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/function": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(p.Handle)).ForEach(ctx, func(int) {})
	},
	"RetryWhen/operators.RetryWhen": func(ctx context.Context, p retry.Policy, story *play) error {
		return operators.RetryWhen(storySource(story), p.Handle).ForEach(ctx, func(int) {})
	},
	"RetryWhen/a run for each failure": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
			return operators.ConcatMap(all, func(f stream.Failure) failures { return p.Handle(stream.Of(f)) })
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/two runs": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
			return p.Handle(all).Merge(p.Handle(all))
		})).ForEach(ctx, func(int) {})
	},
	"MapRetry": func(ctx context.Context, p retry.Policy, story *play) error {
		call := func(ctx context.Context, _ int) (int, error) { return 0, story.attempt(ctx, func() {}) }
		return operators.MapRetry(stream.Of(0), p, call, operators.MapRetryOptions[int]{}).ForEach(ctx, func(int) {})
	},
	"retryhttp": func(ctx context.Context, p retry.Policy, story *play) error {
		base := storyTransport(func(r *http.Request) (*http.Response, error) {
			if err := story.attempt(r.Context(), func() {}); err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
		})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.test", nil)
		if err != nil {
			return err
		}
		response, err := retryhttp.NewTransport(base, p).RoundTrip(r)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	},
}

type failures = stream.Stream[stream.Failure]

// derives is a handler that embeds a policy, and answers by another one made of it.
type derives struct{ retry.Policy }

func (d derives) Handle(all failures) failures { return d.Policy.With().Handle(all) }

func storySource(story *play) stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		return story.attempt(ctx, func() { yield(1) })
	}
}

type storyTransport func(*http.Request) (*http.Response, error)

func (f storyTransport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
