// Package glasshouse is an embeddable rules engine for games where chance, hidden information and money meet.
//
// The house is made of glass: every result can be derived again by somebody who does not trust the house.
//
//	fair      auditable randomness: commitments, keyed draws, weighted tables, reports
//	ledger    double-entry money, versioned documents and counters in one atomic unit
//	battle    case battles
//	examples  a nested module of programs: a tour, a verifier for auditors
//
// # One shape
//
// Every game package has an immutable State. Step takes an [Input] and a command and gives the next State and a
// [Turn], the events of that step; Apply replays a Turn; Tx is everything that the step must write, money and state
// in one unit; View and Observe are what one person may see. The packages do no I/O, start no goroutine, read no clock
// and own no randomness, so the same input gives the same bytes anywhere.
//
// [Table] runs one game over a ledger, synchronously; [Host] runs many, fires their clocks and tells subscribers. Both
// are optional: a backend that wants to may call Step and ledger.Do by itself.
//
// # Errors
//
// There are four classes. A refusal (an engine's RuleError, an [InputError]) is the player's: nothing happened. An
// error of the ledger also means that nothing happened, except ledger.ErrUncertain: repeat the same Tx. A
// [*CorruptError] means that stored bytes are wrong: stop. A panic is a mistake of the program. The first two are
// [Refusal]: they have a stable code.
//
// # Bytes
//
// Events, snapshots, records, derivations and settlements carry a format number and are a promise apart from the API:
// a change of any of them is breaking even if it compiles. CHANGELOG.md lists them under "Bytes".
package glasshouse
