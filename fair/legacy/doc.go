// Package legacy holds read-only verifiers of schemes met in the wild, bit by
// bit as those systems compute them, faults included. Nothing new should be
// drawn with them: use package fair.
//
// # Schemes
//
// Each scheme has an id that a record carries; [Verify] refuses an id it does
// not know ([ErrUnknownScheme]) instead of guessing.
//
//   - legacy/52, a case-battle site in TypeScript: HMAC-SHA256 with the seed's
//     text as key over "client:nonce", the first 13 hex digits mod max, plus 1.
//
// # What legacy/52 proves
//
// Only that a row is consistent with itself. Server seed, its hash and the
// client seed are made by the server after everybody has joined, and nothing is
// published beforehand; the nonce is shared between games, so gaps are normal;
// the retry of the original is never taken for any max that it accepts safely.
package legacy
