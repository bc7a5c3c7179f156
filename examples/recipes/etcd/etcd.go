// Package etcd follows the rows below a prefix in etcd: their state, and then each change.
package etcd

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Change is a change of a row, or a mark. A snapshot is a Begin, each row, and an End: the rows that have not come
// between them do not exist any more. A snapshot that is cut begins again with Begin.
type Change struct {
	Mark       string // Begin, End, or "" for a row
	Key, Value string
	Deleted    bool
}

// The marks of a snapshot.
const Begin, End = "begin", "end"

// Follow returns what changes after the revision start, or, if that is 0 or compacted, a snapshot and what changes
// after it. The rows of a transaction share its revision; a transaction that is cut comes again whole.
//
// Progress notifications move the position while nothing changes, so that it is not compacted meanwhile. silence must
// be longer than their period, the server's --watch-progress-notify-interval, by default 10 minutes. Each attempt has a
// client of its own, because a watch on a silent connection is silent too. The policy needs retry.ResetAfter as well.
func Follow(dial func() (*clientv3.Client, error), prefix string, start int64, silence time.Duration, policy stream.RetryHandler) stream.Stream[Change] {
	type marked = operators.Marked[Change, int64]
	return operators.ResumeMarked(start, func(at int64) stream.Stream[marked] {
		return stream.Stream[marked](func(ctx context.Context, yield func(marked) bool) error {
			client, err := dial()
			if err != nil {
				return err
			}
			defer client.Close()
			if at == 0 {
				list, err := client.Get(ctx, prefix, clientv3.WithPrefix())
				stops := func(row *mvccpb.KeyValue) bool {
					return !yield(marked{Value: Change{"", string(row.Key), string(row.Value), false}})
				}
				if err != nil || !yield(marked{Value: Change{Mark: Begin}}) || slices.ContainsFunc(list.Kvs, stops) {
					return err
				}
				if at = list.Header.Revision; !yield(marked{Value: Change{Mark: End}, At: at}) {
					return nil
				}
			}
			for watch := range client.Watch(clientv3.WithRequireLeader(ctx), prefix, clientv3.WithPrefix(), clientv3.WithRev(at+1), clientv3.WithProgressNotify()) {
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
					if !yield(marked{Value: Change{"", string(e.Kv.Key), string(e.Kv.Value), e.Type == mvccpb.Event_DELETE}, At: at}) {
						return nil
					}
				}
			}
			return errors.New("the watch has ended")
		}).Timeout(silence)
	}, policy)
}
