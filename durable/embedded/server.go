package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a running NATS server with JetStream. It is a durable.Server, and safe for concurrent use.
type Server struct {
	server *server.Server
	lock   *os.File
	log    *log
	once   sync.Once
}

// Option is one setting of Start.
type Option func(*settings)

type settings struct {
	options server.Options
	logger  *slog.Logger
}

// Listen has the server accept connections on 127.0.0.1 too, so that other processes of the machine can be workers: at
// the given port, or for 0 at a free one, which URL tells. There is no password: anybody on the machine can connect,
// unless Options sets one. It panics when port is not from 0 to 65535.
func Listen(port int) Option {
	if port < 0 || port > 65535 {
		panic(fmt.Sprintf("embedded: Listen: port is %d, want 0 to 65535", port))
	}
	return func(s *settings) {
		s.options.DontListen, s.options.Host, s.options.Port = false, "127.0.0.1", port
		if port == 0 {
			s.options.Port = server.RANDOM_PORT
		}
	}
}

// SyncAlways has each job on the disk before the server answers for it, so that a loss of power loses nothing.
func SyncAlways() Option {
	return func(s *settings) { s.options.SyncAlways = true }
}

// MaxStore limits what the server stores, in bytes. What would go over it is refused; nothing is removed for it. By
// default, and for 0, the limit is three quarters of the free disk space at the start. It panics when bytes is negative.
func MaxStore(bytes int64) Option {
	if bytes < 0 {
		panic(fmt.Sprintf("embedded: MaxStore: bytes is %d, want at least 0", bytes))
	}
	return func(s *settings) { s.options.JetStreamMaxStore = bytes }
}

// MaxPayload sets how large a message may be, in bytes; 1 MiB by default, and for 0. The NATS project advises against
// more than 8 MiB. It panics when bytes is negative.
func MaxPayload(bytes int32) Option {
	if bytes < 0 {
		panic(fmt.Sprintf("embedded: MaxPayload: bytes is %d, want at least 0", bytes))
	}
	return func(s *settings) { s.options.MaxPayload = bytes }
}

// Logger is told the server's warnings and errors.
func Logger(l *slog.Logger) Option {
	return func(s *settings) { s.logger = l }
}

// Options changes any option of the server, after those above: TLS, users, a cluster. What it says about where to
// listen holds, so that an address other than 127.0.0.1 takes intent.
func Options(change func(*server.Options)) Option {
	return func(s *settings) { change(&s.options) }
}

// Start starts a server whose store is the folder, and makes the folder if it is not there. It returns when the server
// is ready, typically after some milliseconds; many stored jobs take longer. A folder serves one server at a time.
func Start(dir string, options ...Option) (*Server, error) {
	if dir == "" {
		return nil, errors.New("embedded: start: dir is empty, want the folder for the store")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: start: %w", err)
	}
	s := settings{
		options: server.Options{
			ServerName: "retrywhen-embedded", DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true,
			MaxPayload: server.MAX_PAYLOAD_SIZE,
		},
	}
	for i, o := range options {
		if o == nil {
			return nil, fmt.Errorf("embedded: start: options[%d] is nil", i)
		}
		o(&s)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded: start: the folder for the store: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: start: the folder %s: %w", dir, err)
	}
	srv, err := start(s)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("embedded: start in %s: %w", dir, err)
	}
	srv.lock = lock
	return srv, nil
}

func start(s settings) (*Server, error) {
	ns, err := server.NewServer(&s.options)
	if err != nil {
		return nil, err
	}
	l := &log{to: s.logger, fatal: make(chan struct{})}
	ns.SetLoggerV2(l, false, false, false)
	started := make(chan struct{})
	go func() {
		defer close(started)
		ns.Start()
	}()
	select {
	case <-started: // it has read its store, however long that took
	case <-l.fatal:
	}
	if l.message() == "" && ns.ReadyForConnections(10*time.Second) {
		return &Server{server: ns, log: l}, nil
	}
	ns.Shutdown()
	ns.WaitForShutdown()
	return nil, errors.New(cmp.Or(strings.TrimSpace(l.message()), "the server accepts no connections"))
}

// Connect returns a connection inside the process, or over 127.0.0.1 when the options dial another way.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append([]nats.Option{nats.InProcessServer(s.server)}, options...)...)
}

// URL is where other processes connect to, empty without Listen.
func (s *Server) URL() string {
	if s.server.Addr() == nil {
		return ""
	}
	return s.server.ClientURL()
}

// Close stops the server and waits until its store is closed. Queues should be closed before. Close may be called again.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.server.Shutdown()
		s.server.WaitForShutdown()
		s.lock.Close()
	})
	return nil
}

// Err returns the last error that the server has logged, if that was within the last minute: that its disk is full, say.
func (s *Server) Err() error { return s.log.recent() }

// NATS is the server itself.
func (s *Server) NATS() *server.Server { return s.server }

// log passes on what the server logs, and keeps the error that it cannot start with.
type log struct {
	to    *slog.Logger
	mu    sync.Mutex
	text  string
	fatal chan struct{}
	last  string
	at    time.Time
}

func (l *log) recent() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" || time.Since(l.at) > time.Minute {
		return nil
	}
	return errors.New("embedded: the server says: " + l.last)
}

func (l *log) message() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

func (l *log) Fatalf(format string, v ...any) {
	l.mu.Lock()
	if l.text == "" {
		l.text = fmt.Sprintf(format, v...)
		close(l.fatal)
	}
	l.mu.Unlock()
	l.Errorf(format, v...)
}

func (l *log) Errorf(format string, v ...any) {
	l.mu.Lock()
	l.last, l.at = fmt.Sprintf(format, v...), time.Now()
	l.mu.Unlock()
	if l.to != nil {
		l.to.Error("nats: " + fmt.Sprintf(format, v...))
	}
}

func (l *log) Warnf(format string, v ...any) {
	if l.to != nil {
		l.to.Warn("nats: " + fmt.Sprintf(format, v...))
	}
}

func (l *log) Noticef(string, ...any) {}
func (l *log) Debugf(string, ...any)  {}
func (l *log) Tracef(string, ...any)  {}
