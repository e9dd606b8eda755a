// Package toy is a complete engine in little: two players pay an entry, each gets a hidden roll, and whoever shows the
// higher one wins the pot. It keeps all the laws of machinetest, and a Config can make it break one of them, so that
// the laws can be seen to catch it. It is also the game that the tests of package glasshouse play.
//
//	Open    host     draws the seed, publishes the commitment, starts the clock "join"
//	Join    player   pays the entry; the second one closes entries, deals, and starts the clock "choose"
//	Show    player   shows the roll
//	Fold    player   does not; who has not chosen when "choose" runs out has folded
//	Void    host     money back, until the rolls are dealt; so does "join" when it runs out
package toy
