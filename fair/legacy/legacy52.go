package legacy

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/glasshouse-go/glasshouse/fair"
)

// MaxRoll52 is the greatest max of legacy/52: JavaScript's
// Number.MAX_SAFE_INTEGER, 2^53-1. Above it the original always takes its retry
// and computes with rounded numbers.
const MaxRoll52 = 1<<53 - 1

// buf52 holds the inner pad and a message of usual length: a client seed of 45
// bytes, ":", a nonce of at most 20. Longer ones move to the heap.
const buf52 = blockSize + 128

// Roll52 returns the roll, 1..max: HMAC-SHA256(key = serverSeed, message =
// clientSeed ":" nonce), first 13 hex digits as an integer, mod max, plus 1. Key
// and message are the UTF-8 bytes of the texts as given; the seed is NOT decoded
// from hex. max outside 1..2^53-1 is [ErrMax].
//
// The original takes its nonce as a JavaScript number, whose text equals the
// decimal digits only between -2^53 and 2^53; beyond, use [Roll52Text].
func Roll52(serverSeed, clientSeed string, nonce int64, max uint64) (uint64, error) {
	if err := checkMax(max); err != nil {
		return 0, err
	}
	var p pads
	p.set(serverSeed)
	return p.roll(clientSeed, nonce, max), nil
}

// Roll52Text is [Roll52] with the nonce as JavaScript prints it in a template
// literal: 10^21 is "1e+21".
func Roll52Text(serverSeed, clientSeed, nonce string, max uint64) (uint64, error) {
	if err := checkMax(max); err != nil {
		return 0, err
	}
	var p pads
	p.set(serverSeed)
	var buf [buf52]byte
	msg := append(buf[:0], p.inner[:]...)
	msg = append(msg, clientSeed...)
	msg = append(msg, ':')
	msg = append(msg, nonce...)
	return reduce52(p.finish(msg), max), nil
}

func (p *pads) roll(clientSeed string, nonce int64, max uint64) uint64 {
	var buf [buf52]byte
	msg := append(buf[:0], p.inner[:]...)
	msg = append(msg, clientSeed...)
	msg = append(msg, ':')
	msg = strconv.AppendInt(msg, nonce, 10)
	return reduce52(p.finish(msg), max)
}

// reduce52 leaves out the original's retry: it compares the 52-bit prefix with
// floor((2^53-1)/max)*max, which is never below 2^52 for max up to 2^52, and is
// max itself above.
func reduce52(sum [32]byte, max uint64) uint64 {
	return (binary.BigEndian.Uint64(sum[:8])>>12)%max + 1
}

func checkMax(max uint64) error {
	if max < 1 || max > MaxRoll52 {
		return fmt.Errorf("%w: %d, want 1 to 2^53-1", ErrMax, max)
	}
	return nil
}

// Commit52 returns the original's serverSeedHash: HMAC-SHA256 with the seed's
// text as key over the empty message. Keys that differ only in trailing NUL
// bytes, and a key of more than 64 bytes and its raw SHA-256, share one hash, so
// it binds only seeds of a fixed format.
func Commit52(serverSeed string) fair.Digest {
	var p pads
	p.set(serverSeed)
	return p.commit()
}

func (p *pads) commit() fair.Digest { return p.finish(p.inner[:]) }
