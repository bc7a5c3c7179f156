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
	token  string // of Listen, else ""
	lock   *os.File
	log    *log
	once   sync.Once
}

// Option is an option of Start.
type Option func(*settings)

type settings struct {
	options server.Options
	listen  bool
	changes []func(*server.Options)
	logger  *slog.Logger
}

// Listen makes the server accept connections on 127.0.0.1 too, so that other processes of the machine can be workers.
// It listens on the given port; 0 means a free one. Other processes connect to URL, which includes a token. The server
// creates the token and stores it in the folder, in the file "token", so it is the same after a restart.
// Options can set users, a password or another token instead. If it sets Authorization to "", every process on the
// machine can connect. Listen panics when port is not from 0 to 65535.
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

// SyncAlways makes the server sync each job to the disk before it confirms the job, so that a loss of power loses
// nothing.
func SyncAlways() Option {
	return func(s *settings) { s.options.SyncAlways = true }
}

// MaxStore limits the size of the store, in bytes. When it is reached, the server refuses jobs and removes none. By
// default, and for 0, the limit is three quarters of the free disk space at the start. MaxStore panics when bytes is
// negative.
func MaxStore(bytes int64) Option {
	if bytes < 0 {
		panic(fmt.Sprintf("embedded: MaxStore: bytes is %d, want at least 0", bytes))
	}
	return func(s *settings) { s.options.JetStreamMaxStore = bytes }
}

// MaxPayload sets the maximum size of a message, in bytes; by default, and for 0, it is 1 MiB. The NATS project advises
// against more than 8 MiB. MaxPayload panics when bytes is negative.
func MaxPayload(bytes int32) Option {
	if bytes < 0 {
		panic(fmt.Sprintf("embedded: MaxPayload: bytes is %d, want at least 0", bytes))
	}
	return func(s *settings) { s.options.MaxPayload = bytes }
}

// Logger sets the logger of the server's warnings and errors. By default they are not logged.
func Logger(l *slog.Logger) Option {
	return func(s *settings) { s.logger = l }
}

// Options calls change with the server's options, after all other options have been applied. It can set TLS, users or a
// cluster, and an address to listen on other than 127.0.0.1. Options panics when change is nil.
func Options(change func(*server.Options)) Option {
	if change == nil {
		panic("embedded: Options: change is nil")
	}
	return func(s *settings) { s.changes = append(s.changes, change) }
}

// Start starts a server whose store is the folder dir, and creates the folder if it does not exist. It returns when the
// server is ready. That takes some milliseconds, or longer if many jobs are stored. Start fails while another server
// uses the folder, and on systems without file locks (Solaris, AIX, Plan 9).
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
		unlock(lock)
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
	l := &log{to: cmp.Or(s.logger, slog.New(slog.DiscardHandler)), fatal: make(chan struct{})}
	ns.SetLoggerV2(l, false, false, false)
	started := make(chan struct{})
	go func() {
		defer close(started)
		ns.Start()
	}()
	select {
	case <-started: // it has read its store, which may take long
	case <-l.fatal:
	}
	if l.message() == "" && ns.ReadyForConnections(10*time.Second) {
		return &Server{server: ns, token: token, log: l}, nil
	}
	ns.Shutdown()
	ns.WaitForShutdown()
	return nil, errors.New(cmp.Or(strings.TrimSpace(l.message()), "the server accepts no connections"))
}

// authorize applies the changes of Options. If the server listens and they set no other authorization, it requires the
// token of the file. authorize returns the token if it is required.
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

// tokenOf returns the token in the file, and creates the file if it does not exist.
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

// Connect connects to the server inside the process, without a network. With Listen it uses the token. Other
// credentials must be in options.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	ours := []nats.Option{nats.InProcessServer(inProcess{s.server})}
	if s.token != "" {
		ours = append(ours, nats.Token(s.token))
	}
	return nats.Connect("", append(ours, options...)...)
}

// URL returns the URL to which other processes connect, with the token of Listen. The URL is a secret, because anyone
// who has it can put and take jobs. It is empty without Listen.
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

// Close stops the server, waits until its store is closed, and returns nil. Close the queues before. Close may be
// called again.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.server.Shutdown()
		s.server.WaitForShutdown()
		unlock(s.lock)
	})
	return nil
}

// Err returns the last error that the server has logged within the last minute, such as a full disk, or nil.
func (s *Server) Err() error { return s.log.recent() }

// NATS returns the NATS server itself.
func (s *Server) NATS() *server.Server { return s.server }

// log passes the server's warnings and errors to a slog.Logger. It keeps the last error, and the error that prevents a
// start.
type log struct {
	to    *slog.Logger
	mu    sync.Mutex
	text  string        // of the error that prevents a start
	fatal chan struct{} // closed when there is one
	last  string        // the text of the last error
	at    time.Time     // the time of the last error
}

func (l *log) recent() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" || time.Since(l.at) > time.Minute {
		return nil
	}
	return errors.New("embedded: the server has logged: " + l.last)
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
	l.to.Error("nats: " + fmt.Sprintf(format, v...))
}

func (l *log) Warnf(format string, v ...any) { l.to.Warn("nats: " + fmt.Sprintf(format, v...)) }

func (l *log) Noticef(string, ...any) {}
func (l *log) Debugf(string, ...any)  {}
func (l *log) Tracef(string, ...any)  {}
