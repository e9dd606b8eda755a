package battle

import "strings"

// RuleError refuses a command: nothing has happened. Details are wrapped around it, so compare with errors.Is.
type RuleError string

// The refusals. The text of each is its code.
const (
	ErrConfig           RuleError = "bad_config"          // a field of the Config, which the error names
	ErrCaseCount        RuleError = "case_count"          // must select between 1 and 10 cases
	ErrCaseNotFound     RuleError = "case_not_found"      // no case of that id
	ErrCaseNotActive    RuleError = "case_not_active"     // the case is not for sale
	ErrCaseWithoutItems RuleError = "case_without_items"  // the case has no items
	ErrAlreadyCreated   RuleError = "already_created"     // Create is the first command, and comes once
	ErrNotCreated       RuleError = "not_created"         // Create has not been stepped
	ErrNotWaiting       RuleError = "not_waiting"         // the battle is not waiting for players
	ErrNotInProgress    RuleError = "not_in_progress"     // the battle has not started, or is over
	ErrJoinCode         RuleError = "invalid_join_code"   // a private battle is joined with the creator's code
	ErrAlreadyJoined    RuleError = "already_joined"      // the user has a seat
	ErrNotJoined        RuleError = "not_joined"          // the user has none
	ErrBattleFull       RuleError = "battle_full"         // every seat is taken: the battle has started
	ErrTeamFull         RuleError = "team_full"           // that team's seats are taken
	ErrNoSuchTeam       RuleError = "no_such_team"        // teams count from 1
	ErrOnlyCreator      RuleError = "only_creator"        // only the creator may do that
	ErrCreatorCancels   RuleError = "creator_must_cancel" // the creator cannot leave, he cancels
	ErrHostOnly         RuleError = "host_only"           // only glasshouse.System may do that
	ErrPlayersOnly      RuleError = "players_only"        // glasshouse.System has no seat
	ErrClientSeed       RuleError = "bad_client_seed"     // longer than 64 bytes, or no valid UTF-8
	ErrTooLate          RuleError = "too_late"            // the clock of the situation has run out
	ErrNotDue           RuleError = "not_due"             // the clock has not run out yet, or the beacon is not out
	ErrStaleKey         RuleError = "stale_key"           // no clock of that key is running
	ErrNoBeacon         RuleError = "no_beacon_expected"  // the battle waits for no public random value
	ErrBadBeacon        RuleError = "bad_beacon"          // not the value that was named when entries closed
	ErrRollsKnown       RuleError = "rolls_known"         // the rolls follow from what is fixed: play on
	ErrNonces           RuleError = "bad_nonces"          // not one nonce from 0 to 2^53−1 for each seat
	ErrNoNonces         RuleError = "no_nonces_expected"  // not a Legacy52 battle, or another round's turn
	ErrReason           RuleError = "bad_reason"          // longer than 200 bytes, or no valid UTF-8
	ErrNoDraw           RuleError = "no_draw"             // Input.Draw is missing where secrets are made
	ErrNotOver          RuleError = "not_over"            // a battle has a record once it is over
	ErrRecord           RuleError = "bad_record"          // the bytes are no record of a battle; the error names the place
	ErrUnknownCommand   RuleError = "unknown_command"     // nil, or no command of this package
)

// Error is the code in words.
func (e RuleError) Error() string { return "battle: " + strings.ReplaceAll(string(e), "_", " ") }

// Code is the stable lower_snake name.
func (e RuleError) Code() string { return string(e) }
