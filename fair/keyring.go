package fair

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

// Keyring is a host's own source of secrets: one long-lived secret gives an
// independent [Source] for each key (usually a table's). The same secret, key
// and path give the same words for ever, so a step that is tried again after a
// failed commit draws the same seed. It prints as [secret] and is safe for
// concurrent use.
//
// The words are not part of the scheme: nobody but the host can derive them,
// and nobody needs to.
type Keyring struct{ key veil[[32]byte] }

// NewKeyring makes a keyring of a secret of at least 16 bytes, which it does
// not retain. It panics on a shorter one: published commitments would let
// anybody search for it.
func NewKeyring(secret []byte) *Keyring {
	if len(secret) < 16 {
		panic(fmt.Sprintf("fair: keyring secret of %d bytes: want at least 16", len(secret)))
	}
	key := mac(secret, appendLP(nil, "glasshouse/fair/keyring"))
	return &Keyring{hide(&key)}
}

// For returns the source of one key, any string. Its words for a path are
// those of a [Root] keyed with
// HMAC-SHA256(K, LP("glasshouse/fair/keyring/key") ‖ LP(key)),
// K = HMAC-SHA256(secret, LP("glasshouse/fair/keyring")).
func (k *Keyring) For(key string) Source {
	return newRoot(mac(k.key.get()[:], appendLP(appendLP(nil, "glasshouse/fair/keyring/key"), key)))
}

// String returns [secret].
func (k *Keyring) String() string { return secretText }

// Format prints [secret] whatever the verb.
func (k *Keyring) Format(f fmt.State, _ rune) { printSecret(f) }

func mac(key, msg []byte) [32]byte {
	h := hmac.New(sha256.New, key)
	h.Write(msg)
	return [32]byte(h.Sum(nil))
}
