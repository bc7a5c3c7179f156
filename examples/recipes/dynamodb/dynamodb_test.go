package dynamodb_test

import (
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/dynamodb"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// apiError is a smithy.APIError.
type apiError string

func (e apiError) Error() string     { return "api error " + string(e) }
func (e apiError) ErrorCode() string { return string(e) }

// service is a fake of a shard of 12 records, with its rules: a page has at most two records, every third page is empty
// although more follow, an iterator expires after 15 minutes, and there is none after a trimmed record.
type service struct {
	trimmed    int // how many of the first records are trimmed
	calls      int
	fault      func(ctx context.Context, call int) error // of each call
	iterators  map[string]iterator
	lastPaused int
}

type iterator struct {
	next int
	made time.Time
}

func (s *service) new(next int) string {
	if s.iterators == nil {
		s.iterators = map[string]iterator{}
	}
	name := "handle " + strconv.Itoa(len(s.iterators)+1)
	s.iterators[name] = iterator{next, time.Now()}
	return name
}

func (s *service) call(ctx context.Context) error {
	s.calls++
	return s.fault(ctx, s.calls)
}

func (s *service) shard() dynamodb.Shard[int] {
	return dynamodb.Shard[int]{
		Iterator: func(ctx context.Context, after string) (string, error) {
			if err := s.call(ctx); err != nil {
				return "", err
			}
			at, _ := strconv.Atoi(after)
			if at < s.trimmed {
				return "", apiError("TrimmedDataAccessException")
			}
			return s.new(at + 1), nil
		},
		Records: func(ctx context.Context, name string) (records []int, next string, _ error) {
			if err := s.call(ctx); err != nil {
				return nil, "", err
			}
			i, ok := s.iterators[name]
			switch {
			case !ok:
				return nil, "", apiError("ValidationException")
			case time.Since(i.made) > 15*time.Minute:
				return nil, "", apiError("ExpiredIteratorException")
			case i.next > 12:
				return nil, "", nil // the shard is closed
			case i.next%3 == 0 && s.lastPaused != i.next:
				s.lastPaused = i.next
				return nil, s.new(i.next), nil
			}
			for ; i.next <= 12 && len(records) < 2; i.next++ {
				records = append(records, i.next)
			}
			return records, s.new(i.next), nil
		},
		Sequence: strconv.Itoa,
	}
}

var policy = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfterItems(1), retry.Limit(8))

// Each call fails once, in each way: by its connection, by silence, because the iterator has expired, because it is
// throttled. Every record comes once.
func TestFollow(t *testing.T) {
	want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	for name, failure := range map[string]func(context.Context) error{
		"cut":       func(context.Context) error { return errors.New("connection reset by peer") },
		"silent":    func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"expired":   func(context.Context) error { return apiError("ExpiredIteratorException") },
		"throttled": func(context.Context) error { return apiError("LimitExceededException") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				most := 2
				for at := 1; at < most; at++ {
					s := service{fault: func(ctx context.Context, call int) error {
						if call == at {
							return failure(ctx)
						}
						return nil
					}}
					got, err := s.shard().Follow("", time.Second, 10*time.Second, policy).Collect(t.Context())
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("call %d fails: got %v, %v", at, got, err)
					}
					most = s.calls
				}
				if most < 10 {
					t.Errorf("%d calls, want more", most)
				}
			})
		})
	}
}

// A consumer that takes longer than an iterator lives.
func TestFollow_Slow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service{fault: func(context.Context, int) error { return nil }}
		var got []int
		err := s.shard().Follow("4", time.Second, 10*time.Second, policy).ForEach(t.Context(), func(n int) {
			got = append(got, n)
			time.Sleep(20 * time.Minute)
		})
		if err != nil || fmt.Sprint(got) != "[5 6 7 8 9 10 11 12]" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// An outage ends with the next page, although it is empty.
func TestFollow_Idle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		calls := 0
		shard := dynamodb.Shard[int]{
			Iterator: func(context.Context, string) (string, error) { return "handle", nil },
			Records: func(context.Context, string) ([]int, string, error) {
				if calls++; calls == 1 {
					return nil, "", errors.New("connection reset by peer")
				}
				return nil, "handle", nil
			},
		}
		p := policy.With(retry.OnRecovered(func(context.Context, retry.Recovery) { stop() }))
		if _, err := shard.Follow("", time.Second, time.Second, p).Collect(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("not recovered: %v", err)
		}
	})
}

func TestFollow_Trimmed(t *testing.T) {
	s := service{trimmed: 6, fault: func(context.Context, int) error { return nil }}
	_, err := s.shard().Follow("5", time.Second, 10*time.Second, policy).Collect(t.Context())
	if !errors.Is(err, dynamodb.ErrTrimmed) || errors.Is(err, retry.ErrExhausted) || s.calls != 1 {
		t.Errorf("%v after %d calls", err, s.calls)
	}
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// remote serves the shard to the program that is killed.
type remote struct{ shard dynamodb.Shard[int] }

// Page is what Records returns.
type Page struct {
	Records []int
	Next    string
}

func (r remote) Iterator(after string, iterator *string) (err error) {
	*iterator, err = r.shard.Iterator(context.Background(), after)
	return err
}

func (r remote) Records(iterator string, p *Page) (err error) {
	p.Records, p.Next, err = r.shard.Records(context.Background(), iterator)
	return err
}

// program stores the sequence number of each record.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := ""
	e.Start(&at)
	server, err := rpc.DialHTTP("tcp", args[0])
	if err != nil {
		return err
	}
	shard := new(service).shard()
	shard.Iterator = func(_ context.Context, after string) (iterator string, err error) {
		err = server.Call("Fake.Iterator", after, &iterator)
		return iterator, err
	}
	shard.Records = func(_ context.Context, iterator string) ([]int, string, error) {
		var p Page
		err := server.Call("Fake.Records", iterator, &p)
		return p.Records, p.Next, err
	}
	return killed.Follow(ctx, e, 12, shard.Follow(at, time.Millisecond, time.Second, policy), func(n int) (int, any) { return n, shard.Sequence(n) })
}

// The pages have two records: it is killed amid them, and at their ends.
func TestFollow_Killed(t *testing.T) {
	s := &service{fault: func(context.Context, int) error { return nil }}
	killed.Check(t, "DynamoDB Streams", 3, 3, 12, "0", killed.Serve(t, remote{s.shard()}))
}
