// Package etcd follows the rows below a prefix in etcd: their state, and then each change.
package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Change is a change of a row, or a mark. A snapshot is a Begin, each row, and an End: the rows that have not come
// between them do not exist any more. A snapshot that is cut begins again with Begin.
type Change struct {
	Mark       string // Begin, End, Progress, or "" for a row
	Key, Value string
	Deleted    bool
	Revision   int64 // store it with the effect, also that of a mark: the next process starts there
}

// The marks of a snapshot, and that of a revision without a change below the prefix.
const Begin, End, Progress = "begin", "end", "progress"

type marked = operators.Marked[Change, int64]

// Follow returns what changes after the revision start, or, if that is 0 or compacted, a snapshot and what changes
// after it. The rows of a transaction share its revision, and all but the last bear the one before it; a transaction
// that is cut comes again whole.
//
// Progress moves the position while nothing changes, so that it is not compacted meanwhile: a process that does not
// store it begins with a snapshot after a long pause. silence must be longer than its period, the server's
// --watch-progress-notify-interval, by default 10 minutes. Each attempt has a client of its own, because a watch on a
// silent connection is silent too. The policy needs retry.ResetAfter as well.
func Follow(dial func() (*clientv3.Client, error), prefix string, start int64, silence time.Duration, policy stream.RetryHandler) stream.Stream[Change] {
	return operators.Map(operators.ResumePositions(start, Open(dial, prefix, silence), policy), func(m marked) Change {
		if m.Value.Revision = m.At; m.Bookmark {
			m.Value.Mark = Progress
		}
		return m.Value
	})
}

// Open returns one connection of Follow, for recipes/offset, which stores the position with each effect.
func Open(dial func() (*clientv3.Client, error), prefix string, silence time.Duration) func(at int64) stream.Stream[marked] {
	return func(at int64) stream.Stream[marked] {
		return stream.Stream[marked](func(ctx context.Context, yield func(marked) bool) error {
			client, err := dial()
			if err != nil {
				return err
			}
			defer client.Close()
			if at == 0 {
				more := true
				if at, more, err = snapshot(ctx, client, prefix, yield); err != nil || !more {
					return err
				}
			}
			return changes(ctx, client, prefix, at, yield)
		}).Timeout(silence)
	}
}

// snapshot yields the rows between two marks, and returns their revision; more is false if the consumer has stopped.
func snapshot(ctx context.Context, client *clientv3.Client, prefix string, yield func(marked) bool) (at int64, more bool, _ error) {
	list, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return 0, false, err
	}
	more = yield(marked{Value: Change{Mark: Begin}})
	for i := 0; more && i < len(list.Kvs); i++ {
		more = yield(marked{Value: Change{Key: string(list.Kvs[i].Key), Value: string(list.Kvs[i].Value)}})
	}
	at = list.Header.Revision
	return at, more && yield(marked{Value: Change{Mark: End}, At: at}), nil
}

// changes yields what a watch brings after a revision.
func changes(ctx context.Context, client *clientv3.Client, prefix string, at int64, yield func(marked) bool) error {
	for watch := range client.Watch(clientv3.WithRequireLeader(ctx), prefix, clientv3.WithPrefix(), clientv3.WithRev(at+1), clientv3.WithProgressNotify(), clientv3.WithCreatedNotify()) {
		stream.Works(ctx)
		if watch.CompactRevision > 0 {
			yield(marked{At: 0, Bookmark: true}) // the next attempt begins with a snapshot
		}
		if err := watch.Err(); err != nil || watch.IsProgressNotify() && !yield(marked{At: watch.Header.Revision, Bookmark: true}) {
			return err
		}
		for i, e := range watch.Events {
			if i == len(watch.Events)-1 || watch.Events[i+1].Kv.ModRevision > e.Kv.ModRevision {
				at = e.Kv.ModRevision // the last row of a transaction
			}
			if !yield(marked{Value: Change{Key: string(e.Kv.Key), Value: string(e.Kv.Value), Deleted: e.Type == mvccpb.Event_DELETE}, At: at}) {
				return nil
			}
		}
	}
	return errors.New("the watch has ended")
}
