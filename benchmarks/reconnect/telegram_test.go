package reconnect

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	telegram "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// serveTelegram answers getUpdates with the update that follows the offset, or after the timeout with none.
var serveTelegram = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseMultipartForm(1 << 20)
	if strings.HasSuffix(r.URL.Path, "/getMe") {
		fmt.Fprint(w, bot)
		return
	}
	n, _ := strconv.Atoi(r.FormValue("offset"))
	timeout, _ := strconv.Atoi(r.FormValue("timeout"))
	if n = max(n, 1); n > events {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Duration(timeout) * time.Second):
		}
		fmt.Fprint(w, `{"ok":true,"result":[]}`)
		return
	}
	time.Sleep(pace)
	fmt.Fprintf(w, `{"ok":true,"result":[{"update_id":%d,"message":{"message_id":%[1]d,"date":0,"chat":{"id":1,"type":"private"},"text":"event %[1]d"}}]}`, n)
})

func runTGBotAPI(ctx context.Context, dial dialFunc, got func(string)) error {
	_ = tgbotapi.SetLogger(log.New(io.Discard, "", 0))
	client, transport := over(dial)
	defer transport.CloseIdleConnections()
	api, err := tgbotapi.NewBotAPIWithClient("token", "http://server/bot%s/%s", client)
	if err != nil {
		return err
	}
	config := tgbotapi.NewUpdate(0)
	config.Timeout = 60
	updates := api.GetUpdatesChan(config)
	for {
		select {
		case <-ctx.Done():
			api.StopReceivingUpdates()
			return ctx.Err()
		case u := <-updates:
			got(u.Message.Text)
		}
	}
}

func runTelegram(ctx context.Context, dial dialFunc, got func(string)) error {
	client, transport := over(dial)
	defer transport.CloseIdleConnections()
	client.Timeout = time.Minute // the default
	telegramBot, err := telegram.New("token", telegram.WithServerURL("http://server"), telegram.WithHTTPClient(time.Minute, client), telegram.WithSkipGetMe(),
		telegram.WithErrorsHandler(func(error) {}), telegram.WithNotAsyncHandlers(),
		telegram.WithDefaultHandler(func(_ context.Context, _ *telegram.Bot, u *models.Update) { got(u.Message.Text) }))
	if err != nil {
		return err
	}
	telegramBot.Start(ctx)
	return ctx.Err()
}

var tgbotapiSubject = subject{
	name:     "go-telegram-bot-api/telegram-bot-api v5.5.1",
	promises: "GetUpdatesChan with a timeout of 60 s, as in its README. Updates are kept until they are confirmed: each is expected once. GivesUp.",
	serve:    serveTelegram, run: runTGBotAPI, options: []reconnecttest.Option{givesUp},
	notes: []note{
		{prove.GaveUp, "", "NewBotAPI is not retried. " + link("bot.go:64", tgbotapiFile+"#L64"), "", endsAtFirst(runTGBotAPI)},
		{prove.Left, "", "StopReceivingUpdates does not end the request that runs. " + link("bot.go:443", tgbotapiFile+"#L443"), "", tgbotapiStop},
		{prove.Silent, "", "The default client has no timeout. " + link("bot.go:47", tgbotapiFile+"#L47"), "", staysSilent(runTGBotAPI, getMe, silent)},
		{prove.Late, "", "No request has a context. " + link("bot.go:102", tgbotapiFile+"#L102"), "", tgbotapiContext},
		{prove.Hot, "", "Each wait is 3 s. " + link("bot.go:447", tgbotapiFile+"#L447"), "", equalWaits(runTGBotAPI, getMe, nil)},
		{prove.Jitter, "", "Each wait is 3 s. " + link("bot.go:447", tgbotapiFile+"#L447"), "", equalWaits(runTGBotAPI, getMe, nil)},
	},
}

var telegramSubject = subject{
	name:     "go-telegram/bot v1.19.0",
	promises: "Start with the default timeouts, without getMe, and with handlers one after the other. Each update is expected once.",
	serve:    serveTelegram, run: runTelegram,
	notes: []note{
		{prove.Jitter, "", "Waits double, from 100 ms to 5 s. " + link("get_updates.go:80", "go-telegram/bot/blob/v1.19.0/get_updates.go#L80"), "", equalWaits(runTelegram, nil)},
	},
}

const tgbotapiFile = "go-telegram-bot-api/telegram-bot-api/blob/v5.5.1/bot.go"

const bot = `{"ok":true,"result":{"id":1,"is_bot":true,"first_name":"bot","username":"bot"}}`

// getMe answers the first request, and closes the connection.
var getMe = sending(fmt.Sprintf("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(bot), bot), 0)

// tgbotapiStop shows that a request is not ended.
func tgbotapiStop(t *testing.T) {
	var open atomic.Bool
	visit(t, runTGBotAPI, func(_ *server, ended <-chan error, cancel func()) {
		time.Sleep(time.Second)
		cancel()
		if time.Sleep(30 * time.Second); !hasEnded(ended) || !open.Load() {
			t.Error("its request has ended")
		}
	}, getMe, func(s *server, conn net.Conn) {
		open.Store(true)
		silent(s, conn)
		open.Store(false)
	})
}

// tgbotapiContext shows a caller whose context ends while the server is silent.
func tgbotapiContext(t *testing.T) {
	visit(t, runTGBotAPI, func(_ *server, ended <-chan error, cancel func()) {
		time.Sleep(time.Second)
		cancel()
		if time.Sleep(time.Hour); hasEnded(ended) {
			t.Error("it has ended")
		}
	}, silent)
}
