package feed

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// The source's page sizes.
const (
	activeLimit = 50
	pageLimit   = 10
)

// List is the source's lists of battles: a read model in memory, made from the ledger's journal alone, so that it can
// be thrown away and built again. Private battles are not in it. What it holds of a battle that is over is small, but
// it holds every one. It is safe for concurrent use.
type List struct {
	mu      sync.RWMutex
	seq     uint64
	running map[ledger.DocKey]*running
	all     []*listed // newest first
	active  []*listed // of these, those that are not over
}

// running is a battle that more turns will come of.
type running struct {
	state *battle.State
	row   *listed // nil: private
}

type listed struct {
	created int64
	b       Battle
}

// newest is the order of the lists: the newest first, of equal ones the greater id.
func newest(a, b *listed) int {
	return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(b.b.ID, a.b.ID))
}

// NewList is the list of an empty journal.
func NewList() *List { return &List{running: make(map[ledger.DocKey]*running)} }

// Seq is the newest journal entry applied: ask the ledger for those after it.
func (l *List) Seq() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.seq
}

// Apply takes in one entry of the journal; entries come in order, from the first. Those that are not of battles change
// nothing, and so does an entry again. An entry that does not follow from those before it is a
// [*glasshouse.CorruptError]: nothing has changed, and there is no going on.
func (l *List) Apply(e ledger.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Seq <= l.seq {
		return nil
	}
	if i := slices.IndexFunc(e.Tx.Docs, isBattle); i >= 0 {
		if err := l.apply(e.Tx, e.Tx.Docs[i]); err != nil {
			return fmt.Errorf("feed: journal entry %d: %w", e.Seq, err)
		}
	}
	l.seq = e.Seq
	return nil
}

// configStatus is the status of the document that holds a config.
const configStatus = "config"

func isBattle(d ledger.DocWrite) bool {
	return strings.HasPrefix(string(d.Key), string(battle.Key(""))) && d.Status != configStatus
}

func (l *List) apply(tx ledger.Tx, doc ledger.DocWrite) error {
	r, err := l.next(tx, doc)
	if err != nil {
		return err
	}
	if doc.IfVersion == 0 {
		l.running[doc.Key] = r
		if r.row != nil {
			l.all, l.active = insert(l.all, r.row), insert(l.active, r.row)
		}
	}
	if r.row != nil {
		r.row.b = brief(r.state.View(""))
	}
	if doc.Seal {
		delete(l.running, doc.Key)
		if i := slices.Index(l.active, r.row); i >= 0 {
			l.active = slices.Delete(l.active, i, i+1)
		}
	}
	return nil
}

// next is the battle after the turn of tx. The first turn brings the config along.
func (l *List) next(tx ledger.Tx, doc ledger.DocWrite) (*running, error) {
	if doc.IfVersion == 0 {
		i := slices.IndexFunc(tx.Docs, func(d ledger.DocWrite) bool { return d.Key == glasshouse.ConfigKey(doc.Key) })
		if i < 0 {
			return nil, &glasshouse.CorruptError{What: "document " + string(doc.Key), Err: errors.New("comes without its config")}
		}
		s, err := battle.Rules().Restore(tx.Docs[i].Body, doc.Body)
		if err != nil {
			return nil, err
		}
		r := &running{state: s}
		if v := s.View(""); !v.Private {
			r.row = &listed{created: v.CreatedAt, b: brief(v)}
		}
		return r, nil
	}
	r, ok := l.running[doc.Key]
	if !ok {
		return nil, &glasshouse.CorruptError{What: "document " + string(doc.Key), Err: fmt.Errorf("version %d of an unknown battle", doc.IfVersion+1)}
	}
	t, err := battle.Rules().UnmarshalTurn(tx.Memo)
	if err != nil {
		return nil, err
	}
	s, err := r.state.Apply(t)
	if err != nil {
		return nil, err
	}
	r.state = s
	return r, nil
}

func insert(rows []*listed, r *listed) []*listed {
	i, _ := slices.BinarySearchFunc(rows, r, newest)
	return slices.Insert(rows, i, r)
}

// Filter selects battles, by the source's names. Empty fields select everything, and a name that no battle has selects
// nothing.
type Filter struct {
	Status string // "WAITING"
	Mode   string // "FLIP"
	Limit  int    // at most so many; 0 or less: 50 of Active, 10 of Page
	Offset int    // so many are passed over; less than 0 is 0
}

// Listing is one page of battles.
type Listing struct {
	Battles []Battle `json:"battles"`
	Total   int      `json:"total"`   // selected in all
	HasMore bool     `json:"hasMore"` // some come after this page
}

// Active are the battles that are waiting or in progress, or those of the status that is asked for, newest first.
// Battles of a list lack settlementData and rounds: those are in [Response].
func (l *List) Active(f Filter, profiles Profiles) []Battle {
	l.mu.RLock()
	defer l.mu.RUnlock()
	rows := l.active
	if f.Status != "" {
		rows = l.all
	}
	return page(rows, f, activeLimit, profiles).Battles
}

// Page is one page of all battles, newest first.
func (l *List) Page(f Filter, profiles Profiles) Listing {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return page(l.all, f, pageLimit, profiles)
}

func page(rows []*listed, f Filter, limit int, profiles Profiles) Listing {
	if f.Limit > 0 {
		limit = f.Limit
	}
	out := Listing{Battles: []Battle{}}
	for _, r := range rows {
		if f.Status != "" && r.b.Status != f.Status || f.Mode != "" && r.b.Mode != f.Mode {
			continue
		}
		if out.Total++; out.Total > max(f.Offset, 0) && len(out.Battles) < limit {
			out.Battles = append(out.Battles, r.b.listed(profiles))
		}
	}
	out.HasMore = out.Total-max(f.Offset, 0) > len(out.Battles)
	return out
}
