// Package mongodb follows a change stream of MongoDB by its resume tokens. It does not import the driver, whose values
// fit as they are.
package mongodb

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// ChangeStream is what *mongo.ChangeStream does. Its Token is bson.Raw.
type ChangeStream[Token ~[]byte] interface {
	TryNext(ctx context.Context) bool // waits for MaxAwaitTime, by default a second
	Decode(event any) error
	ResumeToken() Token
	ID() int64 // 0 when the server has closed it
	Err() error
	Close(ctx context.Context) error
}

// ErrLost is the error if the server has no history after the token any more. It is permanent: copy the collection,
// from the cluster time before the copy.
var ErrLost = errors.New("the change stream's history is lost")

// Follow returns the events after the token start; an empty one begins now. watch opens a change stream after a token:
//
//	func(ctx context.Context, after bson.Raw) (mongodb.ChangeStream[bson.Raw], error) {
//		o := options.ChangeStream()
//		if after != nil {
//			o.SetStartAfter(after) // also after an invalidate event, unlike SetResumeAfter
//		}
//		return collection.Watch(ctx, mongo.Pipeline{}, o)
//	}
//
// A token is a name: it is valid on each connection, and tomorrow. The cursor, its ID and the session are handles.
// Tokens of empty batches are bookmarks, so the position of a quiet collection stays within the history of a busy
// server. Store each At with the event's effect, and a bookmark's too: the first one is the beginning of a collection
// without events, and without it the next process would begin at its own now. The driver resumes a change stream by
// itself after each error of the network, and the policy sees only what it returns. A server that sends no batch for
// silence is a failure. The policy needs retry.ResetAfter as well.
func Follow[Event any, Token ~[]byte](watch func(ctx context.Context, after Token) (ChangeStream[Token], error), start Token,
	silence time.Duration, policy stream.RetryHandler) stream.Stream[operators.Marked[Event, Token]] {
	type marked = operators.Marked[Event, Token]
	return operators.ResumePositions(start, func(at Token) stream.Stream[marked] {
		return stream.Stream[marked](func(ctx context.Context, yield func(marked) bool) error {
			changes, err := watch(ctx, at)
			if err != nil {
				return lost(err)
			}
			defer changes.Close(context.WithoutCancel(ctx))
			for changes.ID() != 0 {
				m, err := next[Event](ctx, changes, at)
				if err != nil || !yield(m) {
					return err
				}
				at = m.At
			}
			return nil
		}).Timeout(silence).MustNotEnd(errors.New("the server has closed the change stream"))
	}, policy)
}

// next returns the next event, or a bookmark after an empty batch.
func next[Event any, Token ~[]byte](ctx context.Context, changes ChangeStream[Token], at Token) (m operators.Marked[Event, Token], err error) {
	m.Bookmark = !changes.TryNext(ctx)
	if err := changes.Err(); err != nil {
		return m, lost(err)
	}
	if m.At = changes.ResumeToken(); m.At == nil {
		m.At = at
	}
	if !m.Bookmark {
		if err := changes.Decode(&m.Value); err != nil {
			return m, stream.Permanent(err)
		}
	}
	return m, nil
}

// lost marks the errors ChangeStreamFatalError and ChangeStreamHistoryLost, as a mongo.ServerError has them.
func lost(err error) error {
	var e interface{ HasErrorCode(code int) bool }
	if errors.As(err, &e) && (e.HasErrorCode(280) || e.HasErrorCode(286)) {
		return stream.Permanent(errors.Join(ErrLost, err))
	}
	return err
}
