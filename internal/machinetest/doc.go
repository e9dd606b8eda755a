// Package machinetest holds the laws that every engine of this module keeps, as tests.
//
//	func TestLaws(t *testing.T) {
//		machinetest.Run(t, machinetest.Game[*battle.State, battle.Command, battle.Event, battle.View]{
//			Rules:   battle.Rules(),
//			Start:   startBattle,   // a random game that nobody has stepped, its key, its players' money
//			Actors:  actors,        // who may act: the players, glasshouse.System
//			Next:    nextCommand,   // somebody's command, often a refused one
//			Secrets: secrets,       // texts that one viewer must never find
//			Swap:    swap,          // the same world, but for what one viewer cannot know
//			…
//		})
//	}
//
//	func FuzzDecode(f *testing.F) { machinetest.Fuzz(f, game) }
//
// [Run] plays random games: half of the steps are commands of Legal, some are clocks that fire, the others are what
// Next makes up. A law that had nothing to assert in a whole run fails, so a hook that never says yes is noticed.
//
// [Playthrough] is for people: it writes every view of every state of one scripted game as text to read, and compares.
// Package toy is a small complete engine that keeps all the laws, and breaks each of them on demand.
//
// This is support for tests. No shipped package imports it.
package machinetest
