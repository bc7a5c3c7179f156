package rabbitmq_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// broker is a queue that speaks the methods of AMQP 0-9-1 that a consumer and a publisher need. It does what RabbitMQ does with what
// is not acknowledged: when a channel or its connection ends, the messages return to their places in the queue and come
// again as redelivered; an acknowledgement of a tag that the channel does not have closes the channel. It is not
// RabbitMQ, whose server is heavy.
type broker struct {
	mu        sync.Mutex
	ready     []message // sorted
	consumers []*session
	sessions  []*session
	dead      []int // the rejected messages
	done      []int // the acknowledged messages
}

type message struct {
	n           int
	redelivered bool
}

// session is a connection with one consumer, and one channel of publishers.
type session struct {
	b         *broker
	conn      net.Conn
	out       chan []byte // written by one goroutine
	consumer  uint16      // its channel
	published uint64
	prefetch  int
	tag       string
	delivered uint64
	unacked   map[uint64]message
	silent    bool
}

// The frames, classes and methods that the broker knows.
const (
	frameMethod, frameHeader, frameBody, frameHeartbeat = 1, 2, 3, 8

	connectionStart, connectionTune, connectionOpen, connectionOpenOk = 10<<16 | 10, 10<<16 | 30, 10<<16 | 40, 10<<16 | 41
	connectionStartOk, connectionClose, connectionCloseOk             = 10<<16 | 11, 10<<16 | 50, 10<<16 | 51
	channelOpen, channelOpenOk, channelClose                          = 20<<16 | 10, 20<<16 | 11, 20<<16 | 40
	basicQos, basicQosOk, basicConsume, basicConsumeOk                = 60<<16 | 10, 60<<16 | 11, 60<<16 | 20, 60<<16 | 21
	basicDeliver, basicAck, basicReject                               = 60<<16 | 60, 60<<16 | 80, 60<<16 | 90
	channelCloseOk, confirmSelect, confirmSelectOk                    = 20<<16 | 41, 85<<16 | 10, 85<<16 | 11
)

// publish puts the messages first to last into the queue.
func (b *broker) publish(first, last int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := first; n <= last; n++ {
		b.ready = append(b.ready, message{n: n})
	}
	b.dispatch()
}

// silence makes all present connections carry nothing more, but stay open.
func (b *broker) silence() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		s.silent = true
	}
}

// cut closes all present connections.
func (b *broker) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		_ = s.conn.Close()
	}
}

// settled returns how many messages are acknowledged or rejected.
func (b *broker) settled() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.done) + len(b.dead)
}

// consumed reports whether a consumer receives messages.
func (b *broker) consumed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.consumers, func(s *session) bool { return !s.silent })
}

// serve serves a connection until it ends.
func (b *broker) serve(t testing.TB, conn net.Conn) {
	s := &session{b: b, conn: conn, out: make(chan []byte, 1000), unacked: map[uint64]message{}}
	b.mu.Lock()
	b.sessions = append(b.sessions, s)
	b.mu.Unlock()
	var writing sync.WaitGroup
	writing.Go(func() {
		for frame := range s.out {
			if _, err := conn.Write(frame); err != nil {
				_ = conn.Close()
			}
		}
	})
	// A client that is silent for two heartbeats is dead. The broker's own come twice as often as they must.
	beat := time.NewTicker(heartbeat / 2)
	defer beat.Stop()
	ended := make(chan struct{})
	writing.Go(func() {
		for {
			select {
			case <-beat.C:
				b.mu.Lock()
				if !s.silent {
					s.frame(frameHeartbeat, 0, nil)
				}
				b.mu.Unlock()
			case <-ended:
				close(s.out)
				return
			}
		}
	})
	in := bufio.NewReader(conn)
	if _, err := io.ReadFull(in, make([]byte, len("AMQP\x00\x00\x09\x01"))); err == nil {
		s.method(0, connectionStart, 0, 9, table(), long("PLAIN"), long("en_US"))
		for s.read(t, in) {
		}
	}
	_ = conn.Close()
	b.mu.Lock()
	b.sessions = slices.DeleteFunc(b.sessions, func(other *session) bool { return other == s })
	s.cancel()
	b.mu.Unlock()
	close(ended)
	writing.Wait()
}

// read reads a frame, and reports whether the connection goes on.
func (s *session) read(t testing.TB, in io.Reader) bool {
	header := make([]byte, 7)
	_ = s.conn.SetReadDeadline(time.Now().Add(2 * heartbeat))
	if _, err := io.ReadFull(in, header); err != nil {
		return false
	}
	payload := make([]byte, binary.BigEndian.Uint32(header[3:])+1)
	if _, err := io.ReadFull(in, payload); err != nil {
		return false
	}
	channel := binary.BigEndian.Uint16(header[1:])
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	switch {
	case s.silent:
		return true
	case header[0] == frameBody:
		s.published++
		s.b.ready = append(s.b.ready, message{n: int(binary.BigEndian.Uint32(payload))})
		s.method(channel, basicAck, s.published, 0)
		s.b.dispatch()
		return true
	case header[0] != frameMethod:
		return true
	}
	method, arguments := binary.BigEndian.Uint32(payload), payload[4:]
	switch method {
	case connectionStartOk:
		s.method(0, connectionTune, uint16(10), uint32(1<<17), uint16(heartbeat.Seconds()))
	case connectionOpen:
		s.method(0, connectionOpenOk, short(""))
	case connectionClose:
		s.method(0, connectionCloseOk)
		return false
	case channelOpen:
		s.method(channel, channelOpenOk, long(""))
	case confirmSelect:
		s.method(channel, confirmSelectOk)
	case channelClose:
		if channel == s.consumer {
			s.cancel()
		}
		s.method(channel, channelCloseOk)
	case basicQos:
		s.prefetch = int(binary.BigEndian.Uint16(arguments[4:]))
		s.method(channel, basicQosOk)
	case basicConsume:
		tag := arguments[2+1+int(arguments[2]):]
		s.tag = string(tag[1 : 1+tag[0]])
		s.method(channel, basicConsumeOk, short(s.tag))
		s.consumer = channel
		s.b.consumers = append(s.b.consumers, s)
	case basicAck, basicReject:
		tag := binary.BigEndian.Uint64(arguments)
		m, ok := s.unacked[tag]
		delete(s.unacked, tag)
		switch {
		case !ok:
			t.Errorf("the client acknowledges the unknown tag %d", tag)
			s.method(channel, channelClose, uint16(406), short("PRECONDITION_FAILED - unknown delivery tag"), uint32(method))
			s.cancel()
		case method == basicReject:
			s.b.dead = append(s.b.dead, m.n)
		default:
			s.b.done = append(s.b.done, m.n)
		}
	}
	s.b.dispatch()
	return true
}

// cancel ends the consumer, and returns what is not acknowledged. The caller has the broker's lock.
func (s *session) cancel() {
	s.b.consumers = slices.DeleteFunc(s.b.consumers, func(other *session) bool { return other == s })
	for _, m := range s.unacked {
		s.b.ready = append(s.b.ready, message{m.n, true})
	}
	clear(s.unacked)
	slices.SortFunc(s.b.ready, func(a, b message) int { return a.n - b.n })
	s.b.dispatch()
}

// dispatch delivers what the consumers have room for. The caller has the lock.
func (b *broker) dispatch() {
	for _, s := range b.consumers {
		for !s.silent && len(b.ready) > 0 && len(s.unacked) < s.prefetch {
			m := b.ready[0]
			b.ready = b.ready[1:]
			s.delivered++
			s.unacked[s.delivered] = m
			s.method(s.consumer, basicDeliver, short(s.tag), s.delivered, m.redelivered, short(""), short("jobs"))
			s.frame(frameHeader, s.consumer, bytes(uint16(60), uint16(0), uint64(4), uint16(0)))
			s.frame(frameBody, s.consumer, bytes(uint32(m.n)))
		}
	}
}

func (s *session) method(channel uint16, method int, arguments ...any) {
	s.frame(frameMethod, channel, bytes(append([]any{uint32(method)}, arguments...)...))
}

func (s *session) frame(kind byte, channel uint16, payload []byte) {
	s.out <- bytes(kind, channel, uint32(len(payload)), payload, byte(0xce))
}

// bytes returns the values as AMQP has them.
func bytes(values ...any) (b []byte) {
	for _, v := range values {
		if small, ok := v.(int); ok {
			v = byte(small)
		}
		b, _ = binary.Append(b, binary.BigEndian, v)
	}
	return b
}

func table() []byte         { return bytes(uint32(0)) }
func long(s string) []byte  { return bytes(uint32(len(s)), []byte(s)) }
func short(s string) []byte { return bytes(byte(len(s)), []byte(s)) }
