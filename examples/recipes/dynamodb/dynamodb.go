// Package dynamodb follows a shard of DynamoDB Streams, or of Kinesis, by its sequence numbers. It does not import the
// SDK, whose calls fit into three functions.
package dynamodb

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Shard is a shard, with the SDK's calls.
type Shard[Record any] struct {
	// Iterator is GetShardIterator with AFTER_SEQUENCE_NUMBER, or with TRIM_HORIZON if after is "".
	Iterator func(ctx context.Context, after string) (iterator string, err error)
	// Records is GetRecords. The next iterator is "" when the shard is closed and read to its end.
	Records  func(ctx context.Context, iterator string) (records []Record, next string, err error)
	Sequence func(Record) string
}

// ErrTrimmed is the error of DynamoDB Streams if the records after the position are older than the retention, a day. It
// is permanent: read the table, from a position before it. Kinesis has no such error.
var ErrTrimmed = errors.New("the records after the position are trimmed")

// Follow returns the records after the sequence number start, and ends when the shard is closed: then follow its
// children. After an empty page it waits for every, for a call at most silence.
//
// The position is a sequence number, a name. An iterator is a handle: it expires some minutes after it was made, and so
// each attempt makes its own. An expired one is an ordinary failure. An empty page is not the end: it may take several
// of them, each from the iterator that the last one returned, to reach the next record.
func (s Shard[Record]) Follow(start string, every, silence time.Duration, policy stream.RetryHandler) stream.Stream[Record] {
	return operators.Resume(start, func(at string) stream.Stream[Record] {
		return func(ctx context.Context, yield func(Record) bool) error {
			var records []Record
			iterator, err := call(ctx, silence, func(ctx context.Context) (string, error) { return s.Iterator(ctx, at) })
			for err == nil && iterator != "" {
				iterator, err = call(ctx, silence, func(ctx context.Context) (next string, err error) {
					records, next, err = s.Records(ctx, iterator)
					return next, err
				})
				if err != nil {
					break
				}
				stream.Works(ctx) // also without a record
				if slices.ContainsFunc(records, func(r Record) bool { return !yield(r) }) {
					return nil
				}
				if len(records) == 0 && iterator != "" {
					_, err = stream.Timer(every).One(ctx)
				}
			}
			return trimmed(err)
		}
	}, func(_ string, r Record) string { return s.Sequence(r) }, policy)
}

func call(ctx context.Context, silence time.Duration, f func(context.Context) (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	return f(ctx)
}

// trimmed marks the SDK's *types.TrimmedDataAccessException, which is a smithy.APIError.
func trimmed(err error) error {
	var e interface{ ErrorCode() string }
	if errors.As(err, &e) && e.ErrorCode() == "TrimmedDataAccessException" {
		return stream.Permanent(errors.Join(ErrTrimmed, err))
	}
	return err
}
