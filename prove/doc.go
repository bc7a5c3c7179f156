// Package prove breaks a program's connections to a real server, in real time, and judges what the program delivers.
//
//	report, err := prove.Target{
//		Server: "localhost:6379",
//		Client: func(ctx context.Context, r prove.Run, got func(string)) error { return follow(ctx, r.Addr, got) },
//	}.Check(ctx)
//
// Target.Check runs the program behind a proxy: twice undisturbed, and then once for each place and [Way]. A place is a
// byte of a connection at which, in the undisturbed run, a chunk from the server began. The program may be in any
// language; command retrywhen prove runs one, and reconnecttest.CheckTCP is for tests in Go. What the program delivers
// is compared with what it delivers undisturbed. A [Kind] of fault is a [Finding] only if a scenario shows it twice. If
// fewer than half of the breaks took place, if most values did not pass through the proxy, or if the machine was too
// busy, Check returns an error.
//
// A client in Go that dials with a function of its own is checked more closely by reconnecttest.Check, and a stream by
// reconnecttest.CheckResume, both in virtual time. These kinds can be found:
//
//	kind                                             Check  CheckResume  prove
//	lost, repeated, foreign, order                   yes    yes          yes
//	hot, silent, away, gave-up, ended, late, panic   yes    yes          yes
//	open                                             yes    yes          yes
//	left                                             yes    yes          -
//	cap, jitter, reset                               yes    yes          -
//	lag, gone, second, stop                          -      yes          -
//	cannot-be-judged                                 yes    yes          an error
//	differs                                          -      -            an error
//	past-the-proxy                                   -      -            yes, or an error
//
// Calls.Measure runs a program that makes calls of an HTTP server, which fails in another way each time, and judges its
// retries: early, unsafe, body, half, vain, swallowed, storm and stale, and hot, silent, jitter, cap, late, open and
// panic. docs/measure.md of the repository has the ways and the rules. reconnecttest.CheckCalls does that in virtual
// time.
//
// In real time hours, exact waits and jitter are not judged. Hot means more than 25 connections in two seconds of
// refusals, or nine without a wait. Silence is not that of a broken network: the kernel still answers, so TCP keepalive
// and TCP_USER_TIMEOUT do not notice it.
package prove
