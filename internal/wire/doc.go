// Package wire is the strict JSON that commands, events, snapshots and records are written in.
//
// encoding/json is lenient where a ledger must not be: it takes the last of two equal names, matches names in any
// case, replaces broken UTF-8 and ignores what follows the value. [Unmarshal] refuses all of these, and names the
// place. [Union] reads and writes the tagged form {"kind":"play","data":{…}} of a closed set of Go types.
package wire
