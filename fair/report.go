package fair

import (
	"fmt"
	"strings"
)

// The names of findings that several games share.
const (
	FindingScheme            = "scheme_known"
	FindingCommitment        = "commitment_matches"
	FindingContributionOrder = "contribution_after_commitment"
	FindingFreeze            = "freeze_matches"
	FindingTable             = "table_matches"
	FindingRoll              = "roll_matches"
	FindingItemInRange       = "item_in_range"
	FindingFlip              = "flip_consistent"
	FindingBeaconSignature   = "beacon_randomness_matches_signature"
	FindingBeaconAfterFreeze = "beacon_after_freeze"
	FindingCard              = "card_matches"
	FindingCanonicalBytes    = "canonical_bytes"
	FindingRecordDigest      = "record_digest"
)

// Finding is one thing that a verifier checked.
type Finding struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Got is what the record says, Want what was derived.
	Got  string `json:"got"`
	Want string `json:"want"`
}

// Report is what a verifier returns: what it checked, and what nobody can
// conclude from it. The zero value is an empty report, which is not OK.
type Report struct {
	Findings  []Finding `json:"findings"`
	NotProven []string  `json:"not_proven"`
}

// Check adds a finding that is OK if got equals want, and returns whether it
// is.
func (r *Report) Check(name, got, want string) bool { return r.Add(name, got == want, got, want) }

// Add adds a finding with a verdict of the caller's, and returns the verdict.
func (r *Report) Add(name string, ok bool, got, want string) bool {
	r.Findings = append(r.Findings, Finding{Name: name, OK: ok, Got: got, Want: want})
	return ok
}

// Unproven adds a line about what is not proven; a line that is there already
// is not repeated.
func (r *Report) Unproven(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	for _, l := range r.NotProven {
		if l == line {
			return
		}
	}
	r.NotProven = append(r.NotProven, line)
}

// Contributions adds what the contributions of a game leave unproven: an empty
// one adds nothing, and bytes of the operator prove nothing to anybody else.
func (r *Report) Contributions(list []Contribution) {
	players := 0
	for _, c := range list {
		switch {
		case c.Operator:
			r.Unproven("that the operator chose the bytes of %q without knowing the seed: they are its own", c.Player)
		case len(c.Seed) == 0:
			r.Unproven("that %q had a part in the result: the contribution is empty", c.Player)
		default:
			players++
		}
	}
	if players == 0 {
		r.Unproven("that the operator did not choose the seed for its result: no player contributed")
	}
}

// OK tells whether there is at least one finding and none has failed.
func (r Report) OK() bool { return len(r.Findings) > 0 && len(r.Failed()) == 0 }

// Failed returns the findings that are not OK, in order.
func (r Report) Failed() []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if !f.OK {
			out = append(out, f)
		}
	}
	return out
}

// String returns the report as text, a line for each finding and each thing
// not proven.
func (r Report) String() string {
	var b strings.Builder
	for _, f := range r.Findings {
		if f.OK {
			fmt.Fprintf(&b, "ok    %s: %s\n", f.Name, f.Got)
		} else {
			fmt.Fprintf(&b, "FAIL  %s: got %s, want %s\n", f.Name, f.Got, f.Want)
		}
	}
	for _, l := range r.NotProven {
		fmt.Fprintf(&b, "not proven: %s\n", l)
	}
	return b.String()
}
