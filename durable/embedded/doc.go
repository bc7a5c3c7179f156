// Package embedded runs the server of a durable queue in the same process: NATS with JetStream. Its store is a folder,
// and it listens on no port unless the option Listen is given.
//
//	srv, err := embedded.Start("jobs")
//	if err != nil { ... }
//	defer srv.Close()
//	nc, err := srv.Connect(nats.MaxReconnects(-1))
//	if err != nil { ... }
//	defer nc.Close()
//	q, err := durable.Open(ctx, nc, durable.Config{Name: "mail", Policy: policy})
//
// It is a separate module, so that clients of a cluster do not link a server.
//
// The server writes each job to the operating system before it confirms the job, so a crash of the process loses
// nothing. It syncs the files to the disk every two minutes. A loss of power may lose what was written since.
// SyncAlways prevents that, but makes each Put slower.
package embedded
