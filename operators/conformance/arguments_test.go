package conformance_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// functions are all functions of package operators.
var functions = map[string]any{
	"Batch":                  operators.Batch[int],
	"CombineLatest":          operators.CombineLatest[int, int, int],
	"CombineLatest3":         operators.CombineLatest3[int, int, int, int],
	"CombineLatestSlice":     operators.CombineLatestSlice[int],
	"ConcatMap":              operators.ConcatMap[int, int],
	"Count":                  operators.Count[int],
	"Distinct":               operators.Distinct[int],
	"DistinctBy":             operators.DistinctBy[int, int],
	"DistinctUntilChanged":   operators.DistinctUntilChanged[int],
	"DistinctUntilChangedBy": operators.DistinctUntilChangedBy[int, int],
	"ExhaustMap":             operators.ExhaustMap[int, int],
	"ExpBackoff":             operators.ExpBackoff,
	"First":                  operators.First[int],
	"FlatMap":                operators.FlatMap[int, int],
	"GroupBy":                operators.GroupBy[int, int, int],
	"Last":                   operators.Last[int],
	"Map":                    operators.Map[int, int],
	"MapErr":                 operators.MapErr[int],
	"MapRetry":               operators.MapRetry[int, int],
	"Pairwise":               operators.Pairwise[int],
	"Poll":                   operators.Poll[int, int],
	"Race":                   operators.Race[int],
	"Reduce":                 operators.Reduce[int, int],
	"RepeatWhen":             operators.RepeatWhen[int, int],
	"Resume":                 operators.Resume[int, int],
	"ResumeMarked":           operators.ResumeMarked[int, int],
	"ResumePositions":        operators.ResumePositions[int, int],
	"RetryChans":             operators.RetryChans[int],
	"RetryWhen":              operators.RetryWhen[int, int],
	"Sample":                 operators.Sample[int, int],
	"Scan":                   operators.Scan[int, int],
	"Share":                  operators.Share[int],
	"ShareN":                 operators.ShareN[int],
	"ShareReplay":            operators.ShareReplay[int],
	"SwitchMap":              operators.SwitchMap[int, int],
	"TakeUntil":              operators.TakeUntil[int, int],
	"TryFilter":              operators.TryFilter[int],
	"TryMap":                 operators.TryMap[int, int],
	"Window":                 operators.Window[int, int],
	"WithLatestFrom":         operators.WithLatestFrom[int, int, int],
	"Zip":                    operators.Zip[int, int],
	"ZipSlice":               operators.ZipSlice[int],
	"ZipWith":                operators.ZipWith[int, int, int],
	"ZipWith3":               operators.ZipWith3[int, int, int, int],
}

// sources are the functions of package stream whose arguments may not be nil.
var sources = map[string]any{
	"Defer":         stream.Defer[int],
	"Fail":          stream.Fail[int],
	"FromCallbacks": stream.FromCallbacks[int],
	"FromChan":      stream.FromChan[int],
	"FromChans":     stream.FromChans[int],
	"FromFunc":      stream.FromFunc[int],
	"FromSeq":       stream.FromSeq[int],
	"FromSeq2":      stream.FromSeq2[int],
	"Using":         stream.Using[int, int],
	"WithClock":     stream.WithClock[stream.Stopper],
}

// What an operator is built with is checked when it is built: a nil stream, function, channel or handler panics by its
// name.
func TestArguments_Nil(t *testing.T) {
	docs := packages(t)
	for name := range docs["operators"] {
		if functions[name] == nil {
			t.Errorf("operators.%s is not in the table: add it to functions", name)
		}
	}
	for name, f := range functions {
		expectNilArguments(t, "operators: "+name, reflect.ValueOf(f), docs["operators"][name].parameters)
	}
	for name, f := range sources {
		expectNilArguments(t, "stream: "+name, reflect.ValueOf(f), docs["stream"][name].parameters)
	}
	s, none := reflect.ValueOf(stream.Of(1)), reflect.ValueOf(stream.Stream[int](nil))
	for i := range s.NumMethod() {
		name := s.Type().Method(i).Name
		method, known := docs["stream"][name]
		parameters, isNil := method.parameters, ": the stream is nil"
		if !known { // a method from Go 1.27 on, which is a function too
			parameters, isNil = docs["operators"][name].parameters[1:], ": s is nil"
		}
		if name != "TakeUntilDone" { // nil is a channel that is never closed
			expectNilArguments(t, "stream: "+name, s.Method(i), parameters)
		}
		if got, want := check.Recovered(func() { call(none.Method(i), arguments(none.Method(i).Type())) }), "stream: "+name+isNil; got != want {
			t.Errorf("%s of a nil stream: panicked with %v, want %s: its first line is s.require(%q)", name, got, want, name)
		}
	}
}

// expectNilArguments calls f with nil for each parameter that may not be nil.
func expectNilArguments(t *testing.T, operator string, f reflect.Value, parameters []string) {
	t.Helper()
	for i := range f.Type().NumIn() {
		for _, missing := range missing(f.Type().In(i)) {
			all := arguments(f.Type())
			all[i] = missing
			want := fmt.Sprintf("%s: %s is nil", operator, strings.Replace(parameters[i], "...", "[0]", 1))
			if got := fmt.Sprint(check.Recovered(func() { call(f, all) })); got != want && !strings.HasPrefix(got, want+", want ") {
				t.Errorf("panicked with %s, want %s: check it when the operator is built", got, want)
			}
		}
	}
}

func call(f reflect.Value, arguments []reflect.Value) {
	if f.Type().IsVariadic() {
		f.CallSlice(arguments)
	} else {
		f.Call(arguments)
	}
}

// embeds is a handler only as a value: a nil pointer to it is none.
type embeds struct{ retry.Policy }

// missing returns the nils of a parameter's type, or none if the parameter may be nil.
func missing(t reflect.Type) []reflect.Value {
	switch {
	case t == reflect.TypeFor[context.Context]():
		return nil
	case t == reflect.TypeFor[stream.RetryHandler]():
		return []reflect.Value{reflect.Zero(t), reflect.ValueOf(stream.RetryHandlerFunc(nil)), reflect.ValueOf((*retry.Policy)(nil)),
			reflect.ValueOf((*embeds)(nil))}
	case t == reflect.TypeFor[[]stream.Stream[int]]():
		return []reflect.Value{reflect.MakeSlice(t, 1, 1)}
	case t.Kind() == reflect.Func || t.Kind() == reflect.Interface || t.Kind() == reflect.Chan:
		return []reflect.Value{reflect.Zero(t)}
	}
	return nil
}

// arguments returns arguments for a function of this type, none of which is nil.
func arguments(f reflect.Type) (all []reflect.Value) {
	for t := range f.Ins() {
		v := reflect.Zero(t)
		switch t.Kind() {
		case reflect.Func:
			v = reflect.MakeFunc(t, nil)
		case reflect.Interface:
			for _, some := range []any{context.Background(), jitter.None, retry.Default, errBoom} {
				if reflect.TypeOf(some).Implements(t) {
					v = reflect.ValueOf(some)
				}
			}
		case reflect.Int, reflect.Int64:
			v = reflect.ValueOf(1).Convert(t)
		}
		all = append(all, v)
	}
	return all
}
