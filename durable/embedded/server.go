package embedded

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a running NATS server with JetStream. It is safe for concurrent use.
type Server struct {
	server *server.Server
	token  string // that Listen has made, else ""
	lock   *os.File
	log    *log
	once   sync.Once
}

// Option is one setting of Start.
type Option func(*settings)

type settings struct {
	options server.Options
	listen  bool
	changes []func(*server.Options)
	logger  *slog.Logger
}

// Listen has the server accept connections on 127.0.0.1 too, so that other processes of the machine can be workers: at
// the given port, or for 0 at a free one. They connect to URL, which holds a token: the server makes it when the folder
// is new and keeps it in the file "token" there, so that it is the same after a restart. Options can set users, a
// password or a token of your own instead, or set Authorization to "", so that anybody on the machine can connect.
// Listen panics when port is not from 0 to 65535.
func Listen(port int) Option {
	if port < 0 || port > 65535 {
		panic(fmt.Sprintf("embedded: Listen: port is %d, want 0 to 65535", port))
	}
	return func(s *settings) {
		s.listen = true
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
// default, and for 0, the limit is three quarters of the free disk space at the start. It panics when bytes is
// negative.
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

// Options changes any option of the server, after all other options: TLS, users, a cluster. What it says about where to
// listen holds, so that an address other than 127.0.0.1 takes intent. It panics when change is nil.
func Options(change func(*server.Options)) Option {
	if change == nil {
		panic("embedded: Options: change is nil")
	}
	return func(s *settings) { s.changes = append(s.changes, change) }
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
	srv, err := start(s, dir)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("embedded: start in %s: %w", dir, err)
	}
	srv.lock = lock
	return srv, nil
}

func start(s settings, dir string) (*Server, error) {
	token, err := s.authorize(filepath.Join(dir, "token"))
	if err != nil {
		return nil, err
	}
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
		return &Server{server: ns, token: token, log: l}, nil
	}
	ns.Shutdown()
	ns.WaitForShutdown()
	return nil, errors.New(cmp.Or(strings.TrimSpace(l.message()), "the server accepts no connections"))
}

// authorize makes the changes of Options, and has a server that listens want the token that the file holds, unless they
// have set something else. It returns the token if that is wanted.
func (s *settings) authorize(file string) (token string, err error) {
	if s.listen {
		if token, err = tokenOf(file); err != nil {
			return "", err
		}
		s.options.Authorization = token
	}
	for _, change := range s.changes {
		change(&s.options)
	}
	o := &s.options
	if token == "" || o.Authorization != token {
		return "", nil
	}
	if o.Username != "" || len(o.Users) > 0 || len(o.Nkeys) > 0 || len(o.TrustedOperators) > 0 || len(o.TrustedKeys) > 0 ||
		o.CustomClientAuthentication != nil || o.AuthCallout != nil {
		o.Authorization = ""
		return "", nil
	}
	return token, nil
}

// tokenOf returns the token that the file holds, and makes the file if it is not there.
func tokenOf(file string) (string, error) {
	kept, err := os.ReadFile(file)
	if token := strings.TrimSpace(string(kept)); token != "" {
		return token, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the token: %w", err)
	}
	token := rand.Text()
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		return "", fmt.Errorf("the token: %w", err)
	}
	return token, nil
}

// Connect returns a connection inside the process, or over 127.0.0.1 when the options dial another way. It uses the
// token that Listen has made; other credentials are the options'.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	ours := []nats.Option{nats.InProcessServer(inProcess{s.server})}
	if s.token != "" {
		ours = append(ours, nats.Token(s.token))
	}
	return nats.Connect("", append(ours, options...)...)
}

// URL is where other processes connect to, with the token that Listen has made: a secret, for who has it can put and
// take jobs. It is empty without Listen.
func (s *Server) URL() string {
	if s.server.Addr() == nil {
		return ""
	}
	clients := s.server.ClientURL()
	if s.token == "" {
		return clients
	}
	return strings.Replace(clients, "://", "://"+s.token+"@", 1)
}

// Close stops the server and waits until its store is closed. Queues should be closed before. Close may be called
// again.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.server.Shutdown()
		s.server.WaitForShutdown()
		s.lock.Close()
	})
	return nil
}

// Err returns the last error that the server has logged, if that was within the last minute: that its disk is full,
// say.
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
