package docker

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Line is a line of a container's log.
type Line struct {
	At   time.Time
	Text string
}

// Position is the time of the last line that was taken, and how many lines of that time were: a time is not unique. The
// zero Position is the log's beginning.
type Position struct {
	At    time.Time
	Lines int
}

// After returns the position after a line.
func After(at Position, l Line) Position {
	if l.At.Equal(at.At) {
		return Position{at.At, at.Lines + 1}
	}
	return Position{l.At, 1}
}

// Logs returns the lines of a container that runs without a terminal, after a position, until the container ends. The
// daemon sends a log from a time, which it includes: the lines that were taken already are dropped. A container that
// logs nothing is silent: after silence the attempt fails, and the next one goes on. So the policy needs
// retry.ResetAfter with less than silence.
func Logs(client *http.Client, daemon, container string, start Position, silence time.Duration, policy stream.RetryHandler) stream.Stream[Line] {
	open := func(at Position) stream.Stream[Line] {
		return stream.Stream[Line](func(ctx context.Context, yield func(Line) bool) error {
			query := "?follow=true&stdout=true&stderr=true&timestamps=true"
			if !at.At.IsZero() {
				query += fmt.Sprintf("&since=%d.%09d", at.At.Unix(), at.At.Nanosecond())
			}
			log, err := get(ctx, client, daemon+"/containers/"+url.PathEscape(container)+"/logs"+query)
			if err != nil {
				return err
			}
			defer log.Close()
			stream.Works(ctx)
			for skip := at.Lines; ; {
				switch l, err := read(log); {
				case err == io.EOF:
					return nil
				case err != nil:
					return err
				case l.At.Equal(at.At) && skip > 0:
					skip--
				case !yield(l):
					return nil
				}
			}
		}).Timeout(silence)
	}
	return operators.Resume(start, open, After, policy)
}

// read reads a line. The error is io.EOF if the log is over.
func read(log io.Reader) (l Line, err error) {
	var head [8]byte // the kind of output, and the length of what follows
	if _, err := io.ReadFull(log, head[:]); err != nil {
		return l, err
	}
	text := make([]byte, binary.BigEndian.Uint32(head[4:]))
	if _, err := io.ReadFull(log, text); err != nil {
		return l, fmt.Errorf("docker: a line is cut: %w", err)
	}
	when, line, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
	l.Text = line
	if l.At, err = time.Parse(time.RFC3339Nano, when); err != nil {
		return l, stream.Permanent(err)
	}
	return l, nil
}
