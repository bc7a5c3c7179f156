// Package clientgo shows faults of k8s.io/client-go v0.37.2: a reflector's waits.
//
//  1. watchList waits after a refused connection without looking at its context (tools/cache/reflector.go:817),
//     unlike watch (:612): RunWithContext of an informer returns up to a minute after its context has ended, if the
//     API server is down. A controller cannot shut down in time. To mend it: the select of watch.
//
//  2. watch waits after attempts that fail, and after a watch that ends within a second without an event. One that
//     has delivered an event and ends is followed by the next one at once (:642): a proxy that cuts connections
//     after the first bytes gets a thousand a second in the test. To mend it: delayHandler also after a watch that
//     has lasted for less than a second, whatever it has delivered.
package clientgo

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// run runs an informer whose watches are those of a function, and calls f meanwhile.
func run(t *testing.T, watches func(options metav1.ListOptions) (watch.Interface, error), f func(cancel func(), ended <-chan struct{})) {
	klog.SetLogger(klog.Logger{})
	synctest.Test(t, func(t *testing.T) {
		informer := cache.NewSharedInformer(&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			},
			WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) { return watches(options) },
		}, &metav1.PartialObjectMetadata{}, 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			informer.RunWithContext(ctx)
		}()
		f(cancel, ended)
		cancel()
		<-ended
		time.Sleep(time.Minute)
	})
}

func TestTheContextEndsAWait(t *testing.T) {
	var calls atomic.Int64
	run(t, func(metav1.ListOptions) (watch.Interface, error) {
		calls.Add(1)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}, func(cancel func(), ended <-chan struct{}) {
		for calls.Load() < 5 {
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		cancel()
		if <-ended; time.Since(start) > time.Second {
			t.Errorf("the context ended while the reflector waited; RunWithContext has returned %v later", time.Since(start))
		}
	})
}

func TestWaitAfterAShortWatch(t *testing.T) {
	watches := 0
	run(t, func(options metav1.ListOptions) (watch.Interface, error) {
		if options.SendInitialEvents != nil {
			return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil) // it lists then
		}
		watches++
		w := watch.NewFake()
		go func(version string) {
			w.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: version, ResourceVersion: version}})
			time.Sleep(time.Millisecond)
			w.Stop()
		}(strconv.Itoa(watches + 1))
		return w, nil
	}, func(func(), <-chan struct{}) {
		if time.Sleep(time.Second); watches > 100 {
			t.Errorf("%d watches in a second: each ended a millisecond after an event", watches)
		}
	})
}
