package pgstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// fault is where a connection breaks: at a Sync, which is how the client ends
// each round trip.
type fault uint8

const (
	lostRequest fault = iota + 1 // the server never sees the end of it
	lostReply                    // the server did it, the client never hears of it
	lostServer                   // that, and no connection can be made until repair
)

// line is the way to the server. It breaks once, where it was armed to.
type line struct {
	mu    sync.Mutex
	left  int // Syncs until it breaks
	fault fault
	down  bool
	broke int
}

var errLine = errors.New("the line is down")

// arm lets the line break at the n-th Sync from now, n ≥ 1.
func (l *line) arm(n int, f fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.fault = n, f
}

// repair makes the line good again and says whether it had broken.
func (l *line) repair() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	broke := l.broke > 0
	l.left, l.down, l.broke = 0, false, 0
	return broke
}

// sync counts one; it says how the line breaks here, if it does.
func (l *line) sync() fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return 0
	}
	if l.left--; l.left > 0 {
		return 0
	}
	l.broke++
	l.down = l.fault == lostServer
	return l.fault
}

// connect is a pool of one connection over the line.
func (l *line) connect(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	require.NoError(tb, err)
	cfg.MaxConns = 1
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.mu.Lock()
		down := l.down
		l.mu.Unlock()
		if down {
			return nil, errLine
		}
		c, err := dial(ctx, network, addr)
		return &wire{Conn: c, line: l}, err
	}
	p, err := pgxpool.NewWithConfig(context.Background(), cfg)
	require.NoError(tb, err)
	tb.Cleanup(p.Close)
	return p
}

// wire is one connection. It reads the frontend's messages as they pass.
type wire struct {
	net.Conn
	line    *line
	mu      sync.Mutex
	started bool
	buf     []byte
	deaf    bool // the next reply is lost
}

func (w *wire) Write(p []byte) (int, error) {
	f := fault(0)
	for range w.syncs(p) {
		if g := w.line.sync(); g != 0 {
			f = g
		}
	}
	switch f {
	case lostRequest:
		w.Close()
		return len(p), nil // as a kernel does
	case lostReply, lostServer:
		w.mu.Lock()
		w.deaf = true
		w.mu.Unlock()
	}
	return w.Conn.Write(p)
}

// syncs counts the Sync messages that end in p.
func (w *wire) syncs(p []byte) (n int) {
	w.buf = append(w.buf, p...)
	for {
		head := 1 // the type
		if !w.started {
			head = 0
		}
		if len(w.buf) < head+4 {
			return n
		}
		size := head + int(binary.BigEndian.Uint32(w.buf[head:]))
		if len(w.buf) < size {
			return n
		}
		if w.started && w.buf[0] == 'S' {
			n++
		}
		w.started = true
		w.buf = w.buf[size:]
	}
}

// ready ends a reply of the server outside of a transaction.
var ready = []byte{'Z', 0, 0, 0, 5, 'I'}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.mu.Lock()
	deaf := w.deaf
	w.mu.Unlock()
	if !deaf || err != nil {
		return n, err
	}
	var heard []byte
	for err == nil {
		heard = append(heard, p[:n]...)
		if bytes.HasSuffix(heard, ready) || bytes.HasSuffix(heard, []byte{'Z', 0, 0, 0, 5, 'T'}) {
			break
		}
		n, err = w.Conn.Read(p)
	}
	w.Close()
	return 0, errLine
}
