package fair

import "strings"

// Error is a refusal of this package: nothing happened. Details are wrapped
// around it, so compare with errors.Is.
type Error string

// The refusals. The text of each constant is its code.
const (
	ErrText          Error = "bad_text"         // not valid UTF-8, empty, or longer than 128 bytes
	ErrSeed          Error = "bad_seed"         // not 64 lower-case hex digits, or all zero
	ErrEntropy       Error = "no_entropy"       // the reader of NewSeed failed or ended early
	ErrDigest        Error = "bad_digest"       // not 64 lower-case hex digits
	ErrBytes         Error = "bad_bytes"        // not pairs of lower-case hex digits
	ErrContribution  Error = "bad_contribution" // longer than 64 bytes
	ErrDuplicate     Error = "duplicate"        // a player or an item is named twice
	ErrUnknownPlayer Error = "unknown_player"   // no contribution under that name
	ErrPlayerMissing Error = "player_missing"   // the seat order leaves a contributor out
	ErrCommitment    Error = "bad_commitment"   // the commitment is missing
	ErrDescriptor    Error = "bad_descriptor"   // an unknown or incomplete beacon descriptor
	ErrTarget        Error = "bad_target"       // a target without a beacon, or a beacon without one
	ErrNoBeacon      Error = "no_beacon"        // the freeze names a beacon and there is none yet
	ErrBeacon        Error = "bad_beacon"       // another round than the target, or an unexpected beacon
	ErrSignature     Error = "signature"        // drand randomness is not the SHA-256 of the signature
	ErrRound         Error = "bad_round"        // round 0, or a time outside what can be expressed
	ErrOrder         Error = "out_of_order"     // the seed's life does not allow this step now
	ErrFormat        Error = "bad_format"       // stored bytes of another format, or not canonical
	ErrNoItems       Error = "no_items"         // a table without items
	ErrZeroTotal     Error = "zero_total"       // all weights are zero, or max is
	ErrOverflow      Error = "overflow"         // the total does not fit
	ErrRange         Error = "bad_range"        // an empty or reversed range, or one outside 1..max
	ErrGap           Error = "gap"              // a roll that no range covers
	ErrOverlap       Error = "overlap"          // a roll that two ranges cover
	ErrOpening       Error = "opening_mismatch" // an opened card does not fit its commitment
	ErrPosition      Error = "position_unknown" // a card position outside the published list
)

// Error returns the readable text, prefixed with the package's name.
func (e Error) Error() string { return "fair: " + strings.ReplaceAll(string(e), "_", " ") }

// Code returns the stable name of the refusal in lower_snake.
func (e Error) Code() string { return string(e) }
