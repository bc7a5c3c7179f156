package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
)

// pipedInput gives each attempt the same standard input, although it comes from a pipe: it keeps what it has read. It
// reads only what an attempt has room for. Its methods are for one attempt at a time.
type pipedInput struct {
	source *os.File
	most   size // to keep

	mu      sync.Mutex
	changed sync.Cond // of everything below
	kept    []byte    // what has been read, without its first dropped bytes
	dropped int64
	lost    bool  // more than most has been read, so it cannot be given again
	reading bool  // the reader has started
	wanted  bool  // an attempt has received all that has been read
	within  bool  // the reader is in a read of the source
	ended   bool  // the source has ended
	used    int64 // of the last attempt that has ended: how much it has read
}

// newPipedInput returns nil if in is not a pipe or a socket, or if nothing is to be kept.
func newPipedInput(in *os.File, most size) *pipedInput {
	if in == nil || most == 0 {
		return nil
	}
	if info, err := in.Stat(); err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil
	}
	p := &pipedInput{source: in, most: most}
	p.changed.L = &p.mu
	return p
}

// attach returns the standard input of one attempt, from the beginning. The function must be called when the attempt
// has ended, or has not started.
func (p *pipedInput) attach() (in *os.File, release func(), err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	released := false
	var fed int64
	var feeding sync.WaitGroup
	feeding.Go(func() { fed = p.feed(out, &released) })
	return in, func() {
		p.mu.Lock()
		released, p.wanted = true, false
		p.mu.Unlock()
		p.changed.Broadcast()
		_ = out.Close() // this ends a write
		feeding.Wait()
		left, _ := io.Copy(io.Discard, in)
		_ = in.Close()
		p.used = fed - left
	}, nil
}

// feed writes the input to out until the source ends or released is set. It returns the number of bytes.
func (p *pipedInput) feed(out *os.File, released *bool) (at int64) {
	defer func() { _ = out.Close() }()
	for {
		chunk := p.after(at, released)
		if len(chunk) == 0 {
			return at
		}
		n, err := out.Write(chunk)
		at += int64(n)
		if err != nil {
			return at // the attempt has ended, or has closed its input
		}
	}
}

// unread returns the number of bytes that have been read, and not by the last attempt. It is 0 if the source has not
// ended: its writer may be one that goes on until nobody reads, as yes does. It is called after the last attempt.
func (p *pipedInput) unread() int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	some, over := ready(p.source)
	for p.within && (some || over) { // the read returns at once
		p.changed.Wait()
		some, over = ready(p.source)
	}
	if !p.ended && !over {
		return 0
	}
	return p.dropped + int64(len(p.kept)) - p.used
}

// after returns what follows the given position, and waits for it until the source ends or released is set.
func (p *pipedInput) after(at int64, released *bool) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		p.kept, p.dropped = p.kept[at-p.dropped:], at
	}
	for !*released && at == p.dropped+int64(len(p.kept)) && !p.ended {
		p.wanted = true
		if !p.reading {
			p.reading = true
			go p.read()
		}
		p.changed.Broadcast()
		p.changed.Wait()
	}
	return p.kept[at-p.dropped:]
}

// read reads the source when an attempt wants more. It ends with the source or with the process: a read of a pipe
// cannot be cancelled.
func (p *pipedInput) read() {
	buffer := make([]byte, 64<<10)
	for {
		p.mu.Lock()
		for !p.wanted {
			p.changed.Wait()
		}
		p.within = true
		p.mu.Unlock()
		n, err := p.source.Read(buffer)
		p.mu.Lock()
		p.kept = append(p.kept, buffer[:n]...)
		p.lost = p.lost || size(len(p.kept)) > p.most
		p.wanted, p.within, p.ended = false, false, err != nil
		p.mu.Unlock()
		p.changed.Broadcast()
		if err != nil {
			return
		}
	}
}

// whyLost returns why the input cannot be given to another attempt, or "".
func (p *pipedInput) whyLost() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.lost {
		return ""
	}
	return fmt.Sprintf("its input is longer than --keep-input %v, so it cannot be given again", p.most)
}

// size is a number of bytes.
type size int64

// units are the suffixes of a size, the largest first.
var units = []struct {
	name  string
	bytes size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (s *size) Type() string { return "size" }

func (s *size) wants() string { return "a number of bytes, as in 64MiB, or 0" }

func (s size) String() string {
	for _, u := range units {
		if s > 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

func (s *size) Set(text string) error {
	unit := size(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = number, u.bytes
		}
	}
	n, err := strconv.ParseUint(text, 10, 31)
	*s = size(n) * unit // of 31 and 30 bits
	return err
}
