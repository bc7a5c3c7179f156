package llm_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/llm"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program asks anew after each start: an answer has no position.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	return llm.Tokens(http.DefaultClient, args[0], "why?", silence, retry.Default).ForEach(ctx, func(token string) {
		_, number, _ := strings.Cut(token, "-")
		n, err := strconv.Atoi(number)
		if err = errors.Join(err, e.Apply(n, "")); err != nil {
			panic(err)
		}
	})
}

func TestTokens_Killed(t *testing.T) {
	server := httptest.NewServer(&model{})
	defer server.Close()
	killed.Check(t, 3, 30, 1, 100, true, server.URL)
}
