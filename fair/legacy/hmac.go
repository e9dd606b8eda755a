package legacy

import "crypto/sha256"

const blockSize = 64

// pads are the two padded keys of HMAC-SHA256 (RFC 2104), made once for the
// commitment and the roll of a record. It is used by value on the stack: two
// Sum256 of buffers there cost about a third of crypto/hmac with a fresh key,
// and allocate nothing.
type pads struct{ inner, outer [blockSize]byte }

func (p *pads) set(key string) {
	if len(key) > blockSize {
		sum := sumText(key)
		copy(p.inner[:], sum[:])
	} else {
		copy(p.inner[:], key)
	}
	for i, b := range p.inner {
		p.inner[i] = b ^ 0x36
		p.outer[i] = b ^ 0x5c
	}
}

// finish returns the HMAC; msg begins with the inner pad.
func (p *pads) finish(msg []byte) [sha256.Size]byte {
	inner := sha256.Sum256(msg)
	var buf [blockSize + sha256.Size]byte
	copy(buf[:], p.outer[:])
	copy(buf[blockSize:], inner[:])
	return sha256.Sum256(buf[:])
}

// sumText hashes a text without allocating for those of usual length.
func sumText(s string) [sha256.Size]byte {
	var buf [192]byte
	return sha256.Sum256(append(buf[:0], s...))
}
