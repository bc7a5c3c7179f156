package durable

import (
	"fmt"
	"net/url"
	"strings"
)

// checkURLs returns an error if nats.go cannot read one of the URLs, or reads a password as part of the host. The error
// does not show the URL, which is likely to have a secret in it.
func checkURLs(urls string) error {
	list := strings.Split(urls, ",")
	for i, s := range list {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if !strings.Contains(s, "://") {
			s = "nats://" + s
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.User == nil && strings.Contains(s, "@") {
			return fmt.Errorf("durable: open: Config.URL: entry %d of %d cannot be read, want nats://host:port; "+
				"what is special in a user, password or token must be percent-encoded, a comma as %%2C", i+1, len(list))
		}
	}
	return nil
}

// redact cuts everything up to the last @ of each URL: user, password and token.
func redact(urls string) string {
	list := strings.Split(urls, ",")
	for i, s := range list {
		list[i] = s[strings.LastIndex(s, "@")+1:]
	}
	return strings.Join(list, ",")
}
