// Package embedded runs the server of a durable queue in the process of its user: NATS with JetStream, its store in a
// folder, listening on nothing.
//
//	srv, err := embedded.Start("jobs")
//	if err != nil { ... }
//	defer srv.Close()
//	q, err := durable.Open(ctx, durable.Config{Server: srv, Name: "mail", Policy: policy})
//
// It is a module of its own, so that the clients of a cluster do not link a server.
//
// The server writes each job to the operating system before it answers, so a crash of the process loses nothing. The
// operating system writes to the disk when it likes, the server asks it to every two minutes: a loss of power may
// lose what came since. SyncAlways closes that gap, at a price.
package embedded
