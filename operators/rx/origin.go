package rx

import (
	"reflect"
	"runtime"
	"strings"

	"github.com/reactivex/rxgo/v2"
)

// origin is how an observable of rxgo was made. What may be done with an observable depends on its origin, but rxgo
// does not expose it. So its unexported fields are read by reflection, without changing them. If they are not found, as
// in another version of rxgo, the kind is unknown, and the observable is treated with care.
type origin struct {
	kind kind
	next uintptr // the channel that all subscriptions share, for kinds that have one
}

type kind uint8

const (
	unknown  kind = iota // not rxgo's, or made in a way that is not known here
	separate             // Defer, Just, most operators: each Observe has a channel of its own, closed by its producer
	silent               // Range, GroupBy: the same, but when the context ends the channel is not closed
	onceOnly             // FlatMap and others: a second Observe sends on a closed channel, or closes it again. Just(channel)
	created              // Create: one channel for all, closed by its producer
	internal             // Merge, Concat, Never, everything Eager: one channel for all, which may never be closed
	given                // FromChannel: the caller's channel
	events               // FromEventSource, Interval: each Observe has a channel, to which it sends forever
)

func inspect(o rxgo.Observable) origin {
	if wrapped, ok := o.(Observable); ok {
		return inspect(wrapped.Observable)
	}
	impl, ok := o.(*rxgo.ObservableImpl)
	if !ok {
		return origin{}
	}
	fields := reflect.ValueOf(impl).Elem()
	iterable := fields.FieldByName("iterable")
	for iterable.Kind() == reflect.Interface || iterable.Kind() == reflect.Pointer {
		iterable = iterable.Elem()
	}
	if iterable.Kind() != reflect.Struct {
		return origin{}
	}
	var next uintptr
	if channel := iterable.FieldByName("next"); channel.Kind() == reflect.Chan {
		next = channel.Pointer()
	}
	switch iterable.Type().Name() {
	case "deferIterable":
		return origin{kind: separate}
	case "justIterable":
		return origin{kind: kindOfItems(iterable.FieldByName("items"))}
	case "factoryIterable":
		return origin{kind: kindOfOperator(iterable.FieldByName("factory"))}
	case "rangeIterable", "sliceIterable":
		return origin{kind: silent}
	case "eventSourceIterable":
		return origin{kind: events}
	case "createIterable":
		return origin{created, next}
	case "channelIterable":
		// Of all that makes one, FromChannel alone sets a parent.
		if parent := fields.FieldByName("parent"); parent.Kind() == reflect.Interface && parent.IsNil() {
			return origin{internal, next}
		}
		return origin{given, next}
	}
	return origin{}
}

// drain returns how to drain items, the channel that an Observe has returned. own is the observable's context, if it
// was opened for this subscription alone.
func (a origin) drain(items <-chan rxgo.Item, own *watchedContext) drain {
	watched := own != nil && own.watched.Load()
	switch {
	case a.next != 0 && a.next != reflect.ValueOf(items).Pointer():
		return drainAll // one of a connectable's subscribers
	case a.kind == separate || a.kind == onceOnly:
		return drainMost
	case a.kind == silent || a.kind == given:
		return drainNone
	case a.kind == events && !watched:
		return drainAll
	case a.kind == events:
		return drainBriefly
	case own == nil:
		return drainNone
	case a.kind == created || a.kind == internal && watched:
		return drainMost
	}
	return drainBriefly
}

// kindOfOperator distinguishes operators that make their channel when they are built from operators that make one for
// each Observe. The only visible difference is the function that made the factory.
func kindOfOperator(factory reflect.Value) kind {
	if factory.Kind() != reflect.Func {
		return unknown
	}
	if strings.Contains(runtime.FuncForPC(factory.Pointer()).Name(), ".customObservableOperator.") {
		return onceOnly
	}
	return separate
}

// kindOfItems looks for channels among the items of a Just, which sends what it receives from them.
func kindOfItems(items reflect.Value) kind {
	if items.Kind() != reflect.Slice {
		return unknown
	}
	for i := range items.Len() {
		if item := items.Index(i); item.Kind() == reflect.Interface && item.Elem().Kind() == reflect.Chan {
			return onceOnly
		}
	}
	return separate
}
