package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Asset names what is counted and in which unit: "BRL/2" (cents), "XMR/12",
// "TICKET", "item:ak47". Another scale is another asset. Same alphabet and
// length as an id.
type Asset string

// AccountID names an account: "user:7", "escrow:battle:9", "house:rake:03",
// "lot:pay123", "stock:box1:o1", "world". If the part before the first ':' is
// "world" or "house" the account is unbounded; all others have floor 0 until
// an [Open] says otherwise. Accounts need not be opened before use.
type AccountID string

// DocKey names a document: "battle:9", "battle:9#config".
type DocKey string

// Escrow is the account that holds the money at stake in the document:
// "escrow:" + key. A key longer than 121 bytes has no valid escrow account.
func (k DocKey) Escrow() AccountID { return AccountID("escrow:" + k) }

// Key names a balance: one asset in one account. Keys are ordered by account,
// then asset.
type Key struct {
	Account AccountID `json:"account"`
	Asset   Asset     `json:"asset"`
}

// Posting moves Amount, at least 1, from one account to another one.
type Posting struct {
	From   AccountID `json:"from"`
	To     AccountID `json:"to"`
	Asset  Asset     `json:"asset"`
	Amount int64     `json:"amount,string"`
}

// Hold reserves Amount, at least 1, in account From: still posted there, no
// longer available. An ID is used once, for ever. From ExpiresAt (Unix
// nanoseconds; 0 = never) on it can only be voided; a hold that is already
// past its expiry is refused with [ErrExpired].
type Hold struct {
	ID        string    `json:"id"`
	From      AccountID `json:"from"`
	Asset     Asset     `json:"asset"`
	Amount    int64     `json:"amount,string"`
	ExpiresAt int64     `json:"expires_at,string"`
}

// Leg is one part of a capture: Amount, at least 1, to account To.
type Leg struct {
	To     AccountID `json:"to"`
	Amount int64     `json:"amount,string"`
}

// Close captures or voids the open hold named Hold, which must lie on Key
// (else [ErrHold]: the key is stated so that it can be locked before the hold
// is read).
//
// Void gives everything left back to the account; Take must be empty. Else
// Take moves at most what is left; with Keep the rest stays held and the hold
// stays open while anything is left, without it the rest is given back.
type Close struct {
	Hold string `json:"hold"`
	Key  Key    `json:"key"`
	Take []Leg  `json:"take,omitempty"`
	Keep bool   `json:"keep,omitempty"`
	Void bool   `json:"void,omitempty"`
}

// DocWrite replaces a document. IfVersion is the version it must have now
// (0 = must not exist yet); the new version is IfVersion + 1. IfStatus, unless
// "", is the status it must have now. Seal makes this the last write: any
// later one is [ErrSealed].
type DocWrite struct {
	Key       DocKey `json:"key"`
	IfVersion uint64 `json:"if_version,string"`
	IfStatus  string `json:"if_status,omitempty"`
	Status    string `json:"status,omitempty"`
	Body      []byte `json:"body,omitempty"`
	Seal      bool   `json:"seal,omitempty"`
}

// Require makes the Tx depend on a document it does not write: it must have
// this Version (0 = must not exist) and, unless "", this Status.
type Require struct {
	Key     DocKey `json:"key"`
	Version uint64 `json:"version,string"`
	Status  string `json:"status,omitempty"`
}

// Count adds Delta to a counter, which starts at 0; the result is in the
// [Receipt]. A result above Max is refused with [ErrLimit] unless Delta is
// negative: going down is always allowed, below zero too. Delta 0 reads the
// counter and guards it. Max is math.MaxInt64 for "no limit".
type Count struct {
	Key   string `json:"key"`
	Delta int64  `json:"delta,string"`
	Max   int64  `json:"max,string"`
}

// Unbounded is the floor of an account that may owe any amount.
const Unbounded = math.MinInt64

// Open sets the rule of a balance, before or after its first use. Floor is
// the least available amount ([Unbounded] = none; negative = a credit line).
// A floor above what the Tx leaves available is refused with [ErrFunds]. From
// the next Tx on, a Closed balance refuses postings, new holds and captures
// with [ErrClosed]; its holds can be voided, and another Open reopens it.
type Open struct {
	Key    Key   `json:"key"`
	Floor  int64 `json:"floor,string"`
	Closed bool  `json:"closed,omitempty"`
}

// Tx is one unit of change. A Tx touches each document, hold, counter and
// account rule at most once (a document either by Docs or by Require); a
// second time is [ErrInvalid] naming the later one. A Tx with nothing but an
// ID is invalid; one with a Memo only is a note in the journal. Memo says why,
// in the caller's words; it is part of the body and of the journal.
type Tx struct {
	ID      string     `json:"id"`
	Require []Require  `json:"require,omitempty"`
	Docs    []DocWrite `json:"docs,omitempty"`
	Close   []Close    `json:"close,omitempty"`
	Post    []Posting  `json:"post,omitempty"`
	Hold    []Hold     `json:"hold,omitempty"`
	Count   []Count    `json:"count,omitempty"`
	Open    []Open     `json:"open,omitempty"`
	Memo    []byte     `json:"memo,omitempty"`
}

// Balance is the state of a Key. Available() ≥ Floor unless the balance was
// brought in from outside below its floor: then it may be credited, never
// worsened. Version counts the Txs that touched it.
type Balance struct {
	Key     Key    `json:"key"`
	Posted  int64  `json:"posted,string"`
	Held    int64  `json:"held,string"`
	Floor   int64  `json:"floor,string"`
	Version uint64 `json:"version,string"`
	Closed  bool   `json:"closed,omitempty"`
}

// Available is Posted − Held. Apply keeps it inside int64.
func (b Balance) Available() int64 { return b.Posted - b.Held }

// HoldState is what became of a hold; the zero value is "no such hold".
type HoldState uint8

// The states of a hold. Captured and voided are final.
const (
	HoldOpen HoldState = iota + 1
	HoldCaptured
	HoldVoided
)

// HoldRow is the state of a hold. Left is what is still held: 0 once closed.
type HoldRow struct {
	Hold
	Left  int64     `json:"left,string"`
	State HoldState `json:"state"`
}

// Doc is the state of a document. Version 0 = it does not exist. Updated is
// the time of the last write.
type Doc struct {
	Version uint64 `json:"version,string"`
	Status  string `json:"status,omitempty"`
	Body    []byte `json:"body,omitempty"`
	Sealed  bool   `json:"sealed,omitempty"`
	Updated int64  `json:"updated,string"`
}

// DocRow is a document with its key.
type DocRow struct {
	Key DocKey `json:"key"`
	Doc Doc    `json:"doc"`
}

// DocVersion is the version a Tx gave a document.
type DocVersion struct {
	Key     DocKey `json:"key"`
	Version uint64 `json:"version,string"`
}

// CountRow is the value of a counter.
type CountRow struct {
	Key   string `json:"key"`
	Value int64  `json:"value,string"`
}

// Receipt is what an accepted Tx did: the balances it touched, the documents
// it wrote and the counters it moved, as they stood right after it, each
// sorted by key. At is the ledger's time of the commit, Digest the [Digest] of
// the Tx. Replayed is true when the Tx had been accepted before: all the rest
// is then what the first answer said.
type Receipt struct {
	ID       string
	At       int64
	Digest   [32]byte
	Balances []Balance
	Docs     []DocVersion
	Counts   []CountRow
	Replayed bool
}

// Balance looks up a balance touched by the Tx.
func (r Receipt) Balance(a AccountID, asset Asset) (Balance, bool) {
	i, ok := searchBalance(r.Balances, Key{a, asset})
	if !ok {
		return Balance{}, false
	}
	return r.Balances[i], true
}

// Version looks up a document written by the Tx; 0 = it wrote no such one.
func (r Receipt) Version(key DocKey) uint64 {
	i, ok := slices.BinarySearchFunc(r.Docs, key, func(d DocVersion, k DocKey) int {
		return strings.Compare(string(d.Key), string(k))
	})
	if !ok {
		return 0
	}
	return r.Docs[i].Version
}

// Counter looks up a counter moved by the Tx.
func (r Receipt) Counter(key string) (int64, bool) {
	i, ok := searchCount(r.Counts, key)
	if !ok {
		return 0, false
	}
	return r.Counts[i].Value, true
}

func (r Receipt) clone() Receipt {
	r.Balances = slices.Clone(r.Balances)
	r.Docs = slices.Clone(r.Docs)
	r.Counts = slices.Clone(r.Counts)
	return r
}

func (d Doc) clone() Doc {
	d.Body = slices.Clone(d.Body)
	return d
}

func (tx Tx) clone() Tx {
	tx.Require = slices.Clone(tx.Require)
	tx.Docs = slices.Clone(tx.Docs)
	for i := range tx.Docs {
		tx.Docs[i].Body = slices.Clone(tx.Docs[i].Body)
	}
	tx.Close = slices.Clone(tx.Close)
	for i := range tx.Close {
		tx.Close[i].Take = slices.Clone(tx.Close[i].Take)
	}
	tx.Post = slices.Clone(tx.Post)
	tx.Hold = slices.Clone(tx.Hold)
	tx.Count = slices.Clone(tx.Count)
	tx.Open = slices.Clone(tx.Open)
	tx.Memo = slices.Clone(tx.Memo)
	return tx
}

// Bodies and memos hold hands, seeds and covered cards. A log line with %v of
// a Tx or an error must not deal them out, so these three print sizes only.

// Format prints the document without its body.
func (d Doc) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{version:%d status:%q body:[%d bytes] sealed:%t updated:%d}", d.Version, d.Status, len(d.Body), d.Sealed, d.Updated)
}

// Format prints the write without its body.
func (d DocWrite) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{key:%q if_version:%d if_status:%q status:%q body:[%d bytes] seal:%t}", d.Key, d.IfVersion, d.IfStatus, d.Status, len(d.Body), d.Seal)
}

// Format prints the Tx without bodies and memo.
func (tx Tx) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{id:%q require:%+v docs:%v close:%+v post:%+v hold:%+v count:%+v open:%+v memo:[%d bytes]}",
		tx.ID, tx.Require, tx.Docs, tx.Close, tx.Post, tx.Hold, tx.Count, tx.Open, len(tx.Memo))
}

var holdNames = []string{HoldOpen: "open", HoldCaptured: "captured", HoldVoided: "voided"}

// String is "open", "captured", "voided", or "none".
func (s HoldState) String() string { return enumName(holdNames, int(s)) }

// MarshalText gives the name; the zero value has none.
func (s HoldState) MarshalText() ([]byte, error) { return enumText(holdNames, int(s), "state") }

// UnmarshalText accepts exactly the names.
func (s *HoldState) UnmarshalText(b []byte) error {
	n, err := enumValue(holdNames, b, "state")
	if err == nil {
		*s = HoldState(n)
	}
	return err
}
