package battle

import (
	"slices"
	"strings"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// The house's accounts. Both are unbounded.
const (
	HouseAccount ledger.AccountID = "house:battle" // pays the bots' seats and the winners' cash, gets the entries
	ItemsAccount ledger.AccountID = "house:items"  // mints the items that winners take home
)

// UserAccount is where a user's money and items are: a balance of Config.Asset, and one of each ItemAsset he won.
func UserAccount(user string) ledger.AccountID { return ledger.AccountID("user:" + user) }

// ItemAsset is an item as the ledger counts it, in pieces.
func ItemAsset(item string) ledger.Asset { return ledger.Asset("item:" + item) }

// Key is the document of a battle; its escrow is the account escrow:battle:ID.
func Key(id string) ledger.DocKey { return ledger.DocKey(Game + ":" + id) }

// Rules is what glasshouse.Table and Host need beside the methods of State.
func Rules() glasshouse.Rules[*State, Command, Event, View] {
	return glasshouse.Rules[*State, Command, Event, View]{
		Game: Game, Commands: commands, Events: events,
		Restore: restoreDocuments,
		Status:  func(s *State) string { return s.Status().String() },
		Done:    func(s *State) bool { return s.Status().Done() },
		Expire:  func(key string) Command { return Expire{Key: key} },
		Void:    func(reason string) Command { return Void{Reason: reason} },
		Due: func(s *State, now time.Time) (Command, bool) {
			d := s.Deadline()
			return Expire{Key: d.Key}, d.Key != "" && !now.Before(d.At)
		},
		Key:    func(s *State) ledger.DocKey { return Key(s.setup.cfg.ID) },
		Seated: func(s *State, actor string) bool { return s.seatOf(actor) >= 0 },
	}
}

// Tx is everything that the turn which led to s must write: the documents, and the money that moved. A seat is paid
// for with the turn that takes it, into the battle's escrow; the last turn empties the escrow, to the house if there
// are winners, else back to where it came from. It depends on s and t only, and its id on them too, so a commit that
// is repeated is known again.
func (s *State) Tx(key ledger.DocKey, t Turn) ledger.Tx {
	tx := Rules().Commit(key, s, t, s.setup.json)
	p := poster{asset: s.setup.cfg.Asset, entry: s.setup.entry, escrow: ledger.AccountID("escrow:" + string(key))}
	for _, ev := range t.Events {
		switch ev := ev.(type) {
		case Joined:
			p.pay(payer(ev.User, ev.Bot), p.escrow, p.entry)
		case Left:
			p.pay(p.escrow, UserAccount(ev.User), p.entry)
		case Cancelled:
			s.refund(&p)
		case Settled:
			s.payOut(&p, ev.Settlement)
		}
	}
	tx.Post = p.posts
	return tx
}

func payer(user string, bot bool) ledger.AccountID {
	if bot {
		return HouseAccount
	}
	return UserAccount(user)
}

type poster struct {
	asset  ledger.Asset
	entry  int64
	escrow ledger.AccountID
	posts  []ledger.Posting
}

// pay moves the battle's money; nothing is posted for nothing.
func (p *poster) pay(from, to ledger.AccountID, amount int64) {
	if amount > 0 {
		p.posts = append(p.posts, ledger.Posting{From: from, To: to, Asset: p.asset, Amount: amount})
	}
}

// refund pays each entry back, once.
func (s *State) refund(p *poster) {
	for _, seat := range s.d.Seats {
		if seat.User != "" {
			p.pay(p.escrow, payer(seat.User, seat.Bot), p.entry)
		}
	}
}

// payOut takes the entries and gives items and cash. A bot's bundle stays with the house: it is in the settlement, and
// nowhere else.
func (s *State) payOut(p *poster, st Settlement) {
	if st.Outcome == Refunded {
		s.refund(p)
		return
	}
	p.pay(p.escrow, HouseAccount, p.entry*int64(len(s.d.Seats)))
	for w, at := range st.Winners {
		if seat := s.d.Seats[at]; !seat.Bot {
			p.pay(HouseAccount, UserAccount(seat.User), st.Bundles[w].Cash)
			p.items(UserAccount(seat.User), s.bundle(st, w))
		}
	}
}

// items mints the items of one winner, equal ones in one posting.
func (p *poster) items(to ledger.AccountID, ids []string) {
	slices.Sort(ids)
	for i := 0; i < len(ids); {
		n := i
		for n < len(ids) && ids[n] == ids[i] {
			n++
		}
		p.posts = append(p.posts, ledger.Posting{From: ItemsAccount, To: to, Asset: ItemAsset(ids[i]), Amount: int64(n - i)})
		i = n
	}
}

// bundle lists the item ids of a winner.
func (s *State) bundle(st Settlement, winner int) []string {
	var ids []string
	for _, r := range st.Records {
		if int(r.Winner) == winner && r.Type != RemovedToPool {
			ids = append(ids, s.itemOf(r).ID)
		}
	}
	return ids
}

// itemOf is the item of a settlement's record.
func (s *State) itemOf(r Record) Item {
	if r.Type == AddedFromPool {
		return s.setup.cfg.Catalogue[r.Catalogue]
	}
	drop := s.d.Rolls[r.Drop]
	return s.setup.cfg.Cases[drop.Round-1].Items[drop.Row].Item
}

// botName is what people are shown for a bot.
func botName(user string) string { return "Battle Bot #" + strings.TrimPrefix(user, "bot:") }
