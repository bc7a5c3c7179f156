package docker_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/docker"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program has an effect for each container of a list that it has not had yet: there is no position, and each start
// lists again.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	lists := docker.Follow(http.DefaultClient, args[0], time.Hour, policy)
	containers := operators.ConcatMap(lists, func(list []docker.Container) stream.Stream[docker.Container] { return stream.FromSlice(list) })
	fresh := containers.Filter(func(c docker.Container) bool { return e.Counts()[number(c)] == 0 })
	return killed.Follow(ctx, e, most, fresh, func(c docker.Container) (int, any) { return number(c), nil })
}

func number(c docker.Container) int {
	n, _ := strconv.Atoi(c.ID)
	return n
}

func TestFollow_Killed(t *testing.T) {
	d := &daemon{changed: make(chan struct{})}
	server := httptest.NewServer(d.handler())
	defer server.Close()
	defer server.CloseClientConnections()
	killed.Check(t, "Docker: new containers", 5, 2, most, "0", server.URL)
}
