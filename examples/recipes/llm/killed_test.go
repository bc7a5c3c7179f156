package llm_test

import (
	"context"
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
	return llm.Tokens(http.DefaultClient, ask(args[0]), llm.Chat, silence, retry.Default).ForEach(ctx, func(token string) {
		_, number, _ := strings.Cut(token, "-")
		n, _ := strconv.Atoi(number)
		e.Apply(nil, n)
	})
}

func TestTokens_Killed(t *testing.T) {
	server := httptest.NewServer(&model{})
	defer server.Close()
	killed.Check(t, "A model's tokens", 3, 30, 100, "90: an answer begins again", server.URL)
}
