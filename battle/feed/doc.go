// Package feed speaks the wire format of the case-battle site that package battle is modelled on: its socket messages,
// its battle resource, its tables and its lists, with its own camelCase names and types, so that a front-end written
// for it works unchanged.
//
//	turn, err := table.Do(ctx, in, cmd)
//	if err != nil {
//		return err
//	}
//	for _, m := range feed.Messages(table.State(), turn, profiles) {
//		schedule(m.Due, m.Room, m.Event, m.Payload)
//	}
//
// Everything here is pure: no clock, no goroutine, no I/O, and the same arguments give the same bytes. A message that
// belongs to a later moment (battle:state_push, live:drop) says so in [Message.Due]; keeping the time is the host's
// work. After a restart [Pending] lists what was still to come, from the state alone.
//
// # What never leaves
//
// Everything is built from what a spectator may see: no seed before its reveal, no join code but the creator's own in
// [Response]. A private battle is not in a [List], is not announced, and what its changes would tell everybody goes to
// its room only. Whoever knows its id can ask for the room: whom to let in is for the host to decide.
//
// # Numbers
//
// Amounts are decimal strings, as in the source. Only playerTotals of battle:state are numbers; one beyond 2^53, which
// a JavaScript number cannot hold, is a string there. Formatted amounts have two decimals whatever the asset's scale,
// as the source's have. dropChance is the exact decimal text of the case as a number.
//
// # Beyond the source
//
// Modes that the source does not know have their own names (TERMINAL, JACKPOT, POINTS), with "lowest": true where they
// are turned round; layouts that it does not know are written "2v2v2". Cash paid to a winner is part of totalWonCents
// and shown apart in cashCents; a tie that was refunded has winnerTeam 0, no winners and "isRefunded": true. Leaving is
// battle:player_left. None of these occurs in a battle that the source could have played.
package feed
