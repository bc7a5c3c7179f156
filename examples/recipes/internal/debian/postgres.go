package debian

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/examples/internal/check"
)

// Postgres is a running PostgreSQL server.
type Postgres struct {
	Address string
	control func(args ...string)
}

// StartPostgres starts a server on a free port for the duration of the test. Its user "postgres" has no password.
func StartPostgres(t *testing.T) *Postgres {
	t.Helper()
	initdb := Program(t, "initdb", "postgresql", "/usr/lib/postgresql/*/bin")
	dir, err := os.MkdirTemp("", "recipes-postgres")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var as []string
	if os.Getuid() == 0 { // the server does not run as root
		postgres, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(postgres.Uid)
		gid, _ := strconv.Atoi(postgres.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		as = []string{"runuser", "-u", "postgres", "--"}
	}
	run := func(program string, args ...string) {
		t.Helper()
		args = append(append(as[:len(as):len(as)], program), args...)
		command := exec.Command(args[0], args[1:]...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Errorf("%s: %v\n%s%s", strings.Join(args, " "), err, out, log)
		}
	}
	address := check.Port(t)
	_, port, _ := net.SplitHostPort(address)
	data := filepath.Join(dir, "data")
	run(initdb, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
	p := &Postgres{Address: address, control: func(args ...string) {
		t.Helper()
		run(filepath.Join(filepath.Dir(initdb), "pg_ctl"), append([]string{"-D", data, "-w", "-l", filepath.Join(dir, "log"),
			"-o", "-p " + port + " -c listen_addresses=127.0.0.1 -c unix_socket_directories="}, args...)...)
	}}
	p.control("start")
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() { p.control("-m", "immediate", "stop") })
	return p
}

// Restart kills the server and starts it again.
func (p *Postgres) Restart() { p.control("-m", "immediate", "restart") }

// URL returns the URL of the database at the given address, such as that of a proxy.
func (p *Postgres) URL(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable&connect_timeout=2"
}

// Connect returns a connection to the server, for the duration of the test, which has executed the statements.
func (p *Postgres) Connect(t *testing.T, statements string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL(p.Address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	return conn
}
