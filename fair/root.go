package fair

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"fmt"
	"hash"
	"sync"
	"unicode/utf8"
)

// MaxLabel is the longest label of a draw path in bytes. With it the message
// of a block is at most 47 bytes, which is one compression of SHA-256.
const MaxLabel = 23

// The parts of a marshalled SHA-256 state: magic, chaining value, buffer,
// length. newScratch checks against crypto/hmac that it is laid out like this.
const (
	magicBytes  = 4
	blockBytes  = sha256.BlockSize
	sha256State = magicBytes + sha256.Size + blockBytes + 8
)

// Root is the key from which every draw of one game follows. It is a [Source],
// immutable and safe for concurrent use, and prints as [secret]: who holds it
// knows every result. Make one with [NewRoot], or take it from [Life.Root].
type Root struct{ key veil[midstates] }

// midstates are the HMAC states after the padded key: restoring a state costs
// less than a tenth of hashing the key again.
type midstates struct{ inner, outer [sha256State]byte }

// newRoot takes the 32-byte key R of the scheme.
func newRoot(key [32]byte) *Root {
	var m midstates
	midstate(&m.inner, &key, 0x36)
	midstate(&m.outer, &key, 0x5c)
	return &Root{hide(&m)}
}

func midstate(dst *[sha256State]byte, key *[32]byte, pad byte) {
	var block [64]byte
	copy(block[:], key[:])
	for i := range block {
		block[i] ^= pad
	}
	h := sha256.New()
	h.Write(block[:])
	state, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil || len(state) != sha256State {
		panic("fair: crypto/sha256 does not marshal its state as documented")
	}
	copy(dst[:], state)
}

// scratch is what one HMAC block needs, pooled so that a draw allocates
// nothing; the buffers live here because what goes through hash.Hash escapes.
type scratch struct {
	h     hash.Hash
	load  encoding.BinaryUnmarshaler
	save  encoding.BinaryAppender
	state []byte           // room for a state
	inner [blockBytes]byte // message and padding of the inner hash
	outer [blockBytes]byte // inner hash and padding of the outer one
}

var pool = sync.Pool{New: func() any { return newScratch() }}

// newScratch panics where crypto/sha256 saves its state in another way than
// this file reads it: no draw is better than one that nobody can derive again.
func newScratch() *scratch {
	h := sha256.New()
	s := &scratch{
		h: h, load: h.(encoding.BinaryUnmarshaler), save: h.(encoding.BinaryAppender),
		state: make([]byte, 0, sha256State),
	}
	pad(&s.outer, sha256.Size)
	var key [32]byte
	if want := mac(key[:], s.inner[:1]); !bytes.Equal(newRoot(key).key.get().mac(s, 1), want[:]) {
		panic("fair: crypto/sha256 has changed how it saves its state")
	}
	return s
}

// pad writes the padding of SHA-256 (FIPS 180-4, 5.1.1) for a message of n
// bytes, at most 55, that follows one block.
func pad(block *[blockBytes]byte, n int) {
	block[n] = 0x80
	clear(block[n+1:])
	binary.BigEndian.PutUint64(block[blockBytes-8:], uint64(8*(blockBytes+n)))
}

// mac returns HMAC-SHA256(key, s.inner[:n]) for n of at most 55. Both hashes
// are one compression over a saved state, so the padding is written here, and
// the result is the chaining value after it: hash.Sum would copy the whole
// digest each time, which costs as much as a compression. The result is valid
// until s is used again.
func (m *midstates) mac(s *scratch, n int) []byte {
	pad(&s.inner, n)
	copy(s.outer[:], s.compress(&m.inner, &s.inner))
	return s.compress(&m.outer, &s.outer)
}

// compress returns the chaining value after one block. The errors are
// impossible: the state is one that crypto/sha256 wrote itself.
func (s *scratch) compress(from *[sha256State]byte, block *[blockBytes]byte) []byte {
	if err := s.load.UnmarshalBinary(from[:]); err != nil {
		panic("fair: " + err.Error())
	}
	s.h.Write(block[:])
	state, err := s.save.AppendBinary(s.state)
	if err != nil {
		panic("fair: " + err.Error())
	}
	return state[magicBytes:][:sha256.Size]
}

// Stream returns the words of one draw path as a value that needs no
// allocation. The label is valid UTF-8 of at most [MaxLabel] bytes; it panics
// otherwise, since labels are constants of a program.
func (r *Root) Stream(label string, i, j uint64) Stream {
	if len(label) > MaxLabel || !utf8.ValidString(label) {
		panic(fmt.Sprintf("fair: label %q: want valid UTF-8 of at most %d bytes", label, MaxLabel))
	}
	s := Stream{key: r.key.get()}
	binary.BigEndian.PutUint32(s.msg[:], uint32(len(label)))
	n := 4 + copy(s.msg[4:], label)
	binary.BigEndian.PutUint64(s.msg[n:], i)
	binary.BigEndian.PutUint64(s.msg[n+8:], j)
	s.n = uint8(n + 16)
	return s
}

// At is Stream as a [Source] gives it.
func (r *Root) At(label string, i, j uint64) Words {
	s := r.Stream(label, i, j)
	return &s
}

// block returns block 0 of a path as 32 bytes.
func (r *Root) block(label string, i, j uint64) [32]byte {
	s := r.Stream(label, i, j)
	var out [32]byte
	for k := range 4 {
		binary.BigEndian.PutUint64(out[8*k:], s.Uint64())
	}
	return out
}

// String returns [secret].
func (r *Root) String() string { return secretText }

// Format prints [secret] whatever the verb.
func (r *Root) Format(f fmt.State, _ rune) { printSecret(f) }

// Stream is the endless sequence of words of one draw path; block t of it is
// HMAC-SHA256(R, LP(label) ‖ u64(i) ‖ u64(j) ‖ u32be(t)), four big-endian words
// each. A copy goes on from where the original stood. Not safe for concurrent
// use; the zero value has no root and panics.
type Stream struct {
	key   *midstates
	words [4]uint64
	block uint32 // the next block
	left  uint8  // words not yet given out, at the end of words
	n     uint8  // length of the path in msg
	msg   [4 + MaxLabel + 16]byte
}

// Uint64 returns the next word.
func (s *Stream) Uint64() uint64 {
	if s.left == 0 {
		s.fill()
	}
	w := s.words[4-s.left]
	s.left--
	return w
}

func (s *Stream) fill() {
	p := pool.Get().(*scratch)
	n := copy(p.inner[:], s.msg[:s.n])
	binary.BigEndian.PutUint32(p.inner[n:], s.block)
	sum := s.key.mac(p, n+4)
	for i := range s.words {
		s.words[i] = binary.BigEndian.Uint64(sum[8*i:])
	}
	pool.Put(p)
	// 2^32 blocks are 128 GiB of words: no draw gets there, and beginning
	// again from block 0 would go unnoticed.
	if s.block++; s.block == 0 {
		panic("fair: stream exhausted")
	}
	s.left = 4
}

// Uniform is [Uniform] over this stream, without an allocation.
func (s *Stream) Uniform(n uint64) uint64 {
	if n == 0 {
		panic("fair: Uniform of 0")
	}
	for {
		if x := s.Uint64(); accept(x, n) {
			return x % n
		}
	}
}

// Roll returns a number in 1..max. It panics if max is 0.
func (s *Stream) Roll(max uint64) uint64 { return s.Uniform(max) + 1 }

// String returns [secret].
func (s *Stream) String() string { return secretText }

// Format prints [secret] whatever the verb.
func (s *Stream) Format(f fmt.State, _ rune) { printSecret(f) }
