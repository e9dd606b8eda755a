package ledger

import "fmt"

// ErrInvalid is a malformed Tx or argument: a bug of the caller; sending it
// again is useless. Field is the path of the part at fault, "post[2].amount".
// Code "invalid".
type ErrInvalid struct{ Field, Why string }

// ErrFunds: the balance at Key cannot give what the Tx takes from it. Need is
// the net decrease of what is available, Have what is available above the
// floor (negative when the floor lies higher), both in minor units and capped
// to int64. Code "insufficient_balance".
type ErrFunds struct {
	Key        Key
	Need, Have int64
}

// ErrConflict: the document is not at the wanted version (0 = does not exist)
// or, if the versions agree, not in the wanted status. Load it and decide
// again. Code "conflict".
type ErrConflict struct {
	Doc                    DocKey
	Want, Have             uint64
	WantStatus, HaveStatus string
}

// ErrSealed: the document was decided before; Doc is the final state, the
// caller's to keep. Code "sealed".
type ErrSealed struct{ Doc DocRow }

// ErrKeyReused: ID was used by an accepted Tx with another body. Never change
// the id to get through: look up what was done. Code "key_reused".
type ErrKeyReused struct{ ID string }

// ErrOverflow: a balance, counter or product would leave int64. What names it.
// Code "overflow".
type ErrOverflow struct{ What string }

// ErrHold: the hold cannot be used so. State is what it is (zero = no such
// hold). With state open: it exists already, lies on another key, or has less
// left than is taken; Why says which. Code "hold".
type ErrHold struct {
	ID    string
	State HoldState
	Why   string
}

// ErrExpired: the hold's ExpiresAt is not after the time of the Tx. It can only be
// voided. Code "expired".
type ErrExpired struct {
	ID        string
	ExpiresAt int64
}

// ErrLimit: the counter would pass Max. Code "limit".
type ErrLimit struct {
	Key string
	Max int64
}

// ErrClosed: the balance is closed to postings, holds and captures. Code
// "account_closed".
type ErrClosed struct{ Key Key }

// ErrBusy: contention did not end within the store's retries; the same Tx may
// be sent again later. It never stands for missing funds. Err is the cause.
// Code "busy".
type ErrBusy struct{ Err error }

// ErrUncertain: the Tx may or may not be committed (the reply was lost). Send
// the same Tx, with the same id, again. Err is the cause of one attempt: look
// for ErrUncertain itself first, what it wraps does not mean that nothing
// changed. Code "uncertain".
type ErrUncertain struct {
	ID  string
	Err error
}

// ErrCorrupt: the journal is not what a ledger wrote; Seq is the first entry
// at fault. Stop. Err is the cause, if a rule refused the entry. Code
// "corrupt".
type ErrCorrupt struct {
	Seq uint64
	Why string
	Err error
}

func (e ErrInvalid) Error() string { return "ledger: invalid " + e.Field + ": " + e.Why }

func (e ErrFunds) Error() string {
	return fmt.Sprintf("ledger: insufficient balance of %s in %s: need %d, have %d", e.Key.Asset, e.Key.Account, e.Need, e.Have)
}

func (e ErrConflict) Error() string {
	if e.Want != e.Have {
		return fmt.Sprintf("ledger: document %s is at version %d, not %d", e.Doc, e.Have, e.Want)
	}
	return fmt.Sprintf("ledger: document %s is %q, not %q", e.Doc, e.HaveStatus, e.WantStatus)
}

func (e ErrSealed) Error() string {
	return fmt.Sprintf("ledger: document %s is sealed as %q at version %d", e.Doc.Key, e.Doc.Doc.Status, e.Doc.Doc.Version)
}
func (e ErrKeyReused) Error() string { return "ledger: id " + e.ID + " was used with another body" }
func (e ErrOverflow) Error() string  { return "ledger: " + e.What + " would leave the int64 range" }
func (e ErrHold) Error() string {
	return fmt.Sprintf("ledger: hold %s (%s): %s", e.ID, e.State, e.Why)
}

func (e ErrExpired) Error() string {
	return fmt.Sprintf("ledger: hold %s expired at %d", e.ID, e.ExpiresAt)
}

func (e ErrLimit) Error() string {
	return fmt.Sprintf("ledger: counter %s would pass its limit %d", e.Key, e.Max)
}

func (e ErrClosed) Error() string {
	return fmt.Sprintf("ledger: account %s is closed for %s", e.Key.Account, e.Key.Asset)
}
func (e ErrBusy) Error() string { return "ledger: busy" + cause(e.Err) }
func (e ErrUncertain) Error() string {
	return "ledger: outcome of " + e.ID + " is uncertain, send it again with the same id" + cause(e.Err)
}

func (e ErrCorrupt) Error() string {
	return fmt.Sprintf("ledger: journal corrupt at entry %d: %s%s", e.Seq, e.Why, cause(e.Err))
}

func cause(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// Unwrap gives the cause.
func (e ErrBusy) Unwrap() error { return e.Err }

// Unwrap gives the cause.
func (e ErrUncertain) Unwrap() error { return e.Err }

// Unwrap gives the cause.
func (e ErrCorrupt) Unwrap() error { return e.Err }

// Code is "invalid".
func (ErrInvalid) Code() string { return "invalid" }

// Code is "insufficient_balance".
func (ErrFunds) Code() string { return "insufficient_balance" }

// Code is "conflict".
func (ErrConflict) Code() string { return "conflict" }

// Code is "sealed".
func (ErrSealed) Code() string { return "sealed" }

// Code is "key_reused".
func (ErrKeyReused) Code() string { return "key_reused" }

// Code is "overflow".
func (ErrOverflow) Code() string { return "overflow" }

// Code is "hold".
func (ErrHold) Code() string { return "hold" }

// Code is "expired".
func (ErrExpired) Code() string { return "expired" }

// Code is "limit".
func (ErrLimit) Code() string { return "limit" }

// Code is "account_closed".
func (ErrClosed) Code() string { return "account_closed" }

// Code is "busy".
func (ErrBusy) Code() string { return "busy" }

// Code is "uncertain".
func (ErrUncertain) Code() string { return "uncertain" }

// Code is "corrupt".
func (ErrCorrupt) Code() string { return "corrupt" }
