package debian

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/examples/internal/check"
)

// Postgres is a running PostgreSQL server.
type Postgres struct {
	Address string
	control func(args ...string) error
	data    string
}

// StartPostgres starts a server on a free port for the duration of the test, with settings such as "wal_level=logical".
// Its user "postgres" has no password.
func StartPostgres(t *testing.T, settings ...string) *Postgres {
	t.Helper()
	initdb := Program(t, "initdb", "postgresql", "/usr/lib/postgresql/*/bin")
	dir, err := os.MkdirTemp("", "recipes-postgres")
	check.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var as []string
	if os.Getuid() == 0 { // the server does not run as root
		postgres, err := user.Lookup("postgres")
		check.Must(t, err)
		uid, _ := strconv.Atoi(postgres.Uid)
		gid, _ := strconv.Atoi(postgres.Gid)
		check.Must(t, os.Chown(dir, uid, gid))
		as = []string{"runuser", "-u", "postgres", "--"}
	}
	run := func(program string, args ...string) error {
		args = append(append(as[:len(as):len(as)], program), args...)
		command := exec.Command(args[0], args[1:]...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			return fmt.Errorf("%s: %w\n%s%s", strings.Join(args, " "), err, out, log)
		}
		return nil
	}
	address := check.Port(t)
	_, port, _ := net.SplitHostPort(address)
	data := filepath.Join(dir, "data")
	check.Must(t, run(initdb, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"))
	var options strings.Builder
	options.WriteString("-p " + port + " -c listen_addresses=127.0.0.1 -c unix_socket_directories=")
	for _, setting := range settings {
		options.WriteString(" -c " + setting)
	}
	p := &Postgres{Address: address, data: data, control: func(args ...string) error {
		return run(filepath.Join(filepath.Dir(initdb), "pg_ctl"), append([]string{"-D", data, "-w", "-l", filepath.Join(dir, "log"),
			"-o", options.String()}, args...)...)
	}}
	check.Must(t, p.control("start"))
	t.Cleanup(func() {
		if err := p.control("-m", "immediate", "stop"); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Kill kills the server's first process with SIGKILL, which ends the others, and starts it again. It may be called on
// any goroutine.
func (p *Postgres) Kill(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, invalid := strconv.Atoi(first)
	if err := errors.Join(err, invalid); err != nil {
		t.Error(err)
		return
	}
	server, err := os.FindProcess(pid)
	if err = errors.Join(err, server.Kill()); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); p.control("start") != nil; { // until the others have ended
		if time.Now().After(end) {
			t.Error("the server does not start again")
			return
		}
	}
}

// URL returns the URL of the database at the given address, such as that of a proxy.
func (p *Postgres) URL(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable&connect_timeout=2"
}

// Connect returns a connection to the server, for the duration of the test, which has executed the statements.
func (p *Postgres) Connect(t *testing.T, statements string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL(p.Address))
	check.Must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	return conn
}
