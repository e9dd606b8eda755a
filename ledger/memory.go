package ledger

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Memory is the reference [Store]: everything in maps under one mutex, the
// hash chain computed at once. It is for tests and simulations: what it holds
// is lost with the process, and until then its journal only grows.
type Memory struct {
	mu sync.Mutex
	t  tables
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{t: newTables()} }

// Format prints no content: fmt would look into the maps, where it calls no
// method, and deal out every document.
func (*Memory) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "{ledger in memory}") }

// tables is a whole ledger in maps, and a View of it. Replay uses it too.
type tables struct {
	balances map[Key]Balance
	holds    map[string]HoldRow
	docs     map[DocKey]Doc
	counts   map[string]int64
	ids      map[string]*record
	journal  []*record

	// Where the next rows of the journal go: one allocation for many.
	records []record
	rows    []Balance

	head  [32]byte
	keys  keyIndex
	byDoc map[DocKey][]int // positions in journal of the entries that write it
}

// record is one accepted Tx, its entry and its receipt without what they
// share: most of the cost of a commit is the memory it fills.
type record struct {
	tx           *Tx
	at           int64
	digest, hash [32]byte
	balances     []Balance
	docs         []DocVersion
	counts       []CountRow
}

func (r *record) receipt() Receipt {
	return Receipt{ID: r.tx.ID, At: r.at, Digest: r.digest, Balances: r.balances, Docs: r.docs, Counts: r.counts}
}

// entry clones: it leaves the package.
func (r *record) entry(n int) Entry {
	return Entry{Seq: uint64(n) + 1, At: r.at, Tx: r.tx.clone(), Digest: r.digest, Hash: r.hash}
}

func newTables() tables {
	return tables{
		balances: map[Key]Balance{},
		holds:    map[string]HoldRow{},
		docs:     map[DocKey]Doc{},
		counts:   map[string]int64{},
		ids:      map[string]*record{},
		byDoc:    map[DocKey][]int{},
	}
}

func (t *tables) Receipt(id string) (Receipt, bool) {
	if r, ok := t.ids[id]; ok {
		return r.receipt(), true
	}
	return Receipt{}, false
}

func (t *tables) Balance(k Key) Balance {
	if b, ok := t.balances[k]; ok {
		return b
	}
	return Balance{Key: k, Floor: defaultFloor(k.Account)}
}

func (t *tables) Hold(id string) HoldRow   { return t.holds[id] }
func (t *tables) Doc(k DocKey) Doc         { return t.docs[k] }
func (t *tables) Counter(key string) int64 { return t.counts[key] }

// commit writes an accepted Change.
func (t *tables) commit(c *Change) {
	n := len(t.journal)
	t.head = Chain(t.head, uint64(n)+1, c.Receipt.At, c.Receipt.Digest)
	for i := range c.Receipt.Balances {
		t.balances[c.Receipt.Balances[i].Key] = c.Receipt.Balances[i]
	}
	for i := range c.Receipt.Counts {
		t.counts[c.Receipt.Counts[i].Key] = c.Receipt.Counts[i].Value
	}
	for i := range c.Holds {
		t.holds[c.Holds[i].ID] = c.Holds[i]
	}
	for i := range c.Docs {
		d := &c.Docs[i]
		if d.Doc.Version == 1 {
			t.keys.insert(d.Key)
		}
		t.docs[d.Key] = d.Doc
		t.byDoc[d.Key] = append(t.byDoc[d.Key], n)
	}
	if len(t.records) == 0 {
		t.records = make([]record, 128)
	}
	r := &t.records[0]
	t.records = t.records[1:]
	*r = record{tx: c.Tx, at: c.Receipt.At, digest: c.Receipt.Digest, hash: t.head, balances: t.keep(c.Receipt.Balances), docs: slices.Clone(c.Receipt.Docs), counts: slices.Clone(c.Receipt.Counts)}
	t.ids[c.Tx.ID] = r
	t.journal = append(t.journal, r)
}

func (t *tables) keep(rows []Balance) []Balance {
	n := len(rows)
	if cap(t.rows)-len(t.rows) < n {
		t.rows = make([]Balance, 0, max(n, 256))
	}
	t.rows = append(t.rows, rows...)
	return t.rows[len(t.rows)-n : len(t.rows) : len(t.rows)]
}

// state copies the tables into sorted lists.
func (t *tables) state() State {
	s := State{Seq: uint64(len(t.journal)), Head: t.head}
	for _, k := range slices.SortedFunc(maps.Keys(t.balances), compareKeys) {
		s.Balances = append(s.Balances, t.balances[k])
	}
	for _, k := range slices.Sorted(maps.Keys(t.holds)) {
		s.Holds = append(s.Holds, t.holds[k])
	}
	for _, k := range slices.Sorted(maps.Keys(t.docs)) {
		s.Docs = append(s.Docs, DocRow{k, t.docs[k]})
	}
	for _, k := range slices.Sorted(maps.Keys(t.counts)) {
		s.Counts = append(s.Counts, CountRow{k, t.counts[k]})
	}
	for _, k := range slices.Sorted(maps.Keys(t.ids)) {
		s.Receipts = append(s.Receipts, t.ids[k].receipt())
	}
	return s
}

// Atomic implements [Store].
func (m *Memory) Atomic(ctx context.Context, _ KeySet, f func(View) (Change, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.atomic(f)
}

func (m *Memory) atomic(f func(View) (Change, error)) error {
	c, err := f(&m.t)
	if err == nil && !c.Receipt.Replayed {
		m.t.commit(&c)
	}
	return err
}

// AtomicAll implements [Batcher].
func (m *Memory) AtomicAll(ctx context.Context, sets []KeySet, f func(int, View) (Change, error)) []error {
	errs := make([]error, len(sets))
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range sets {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = m.atomic(func(v View) (Change, error) { return f(i, v) })
		}
	}
	return errs
}

// Read implements [Store].
func (m *Memory) Read(ctx context.Context, ks KeySet) (View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &State{Seq: uint64(len(m.t.journal)), Head: m.t.head}
	if r, ok := m.t.Receipt(ks.ID); ok {
		s.Receipts = []Receipt{r}
	}
	for _, k := range ks.Balances {
		s.Balances = append(s.Balances, m.t.Balance(k))
	}
	for _, id := range ks.Holds {
		if h, ok := m.t.holds[id]; ok {
			s.Holds = append(s.Holds, h)
		}
	}
	for _, k := range ks.Docs {
		if d, ok := m.t.docs[k]; ok {
			s.Docs = append(s.Docs, DocRow{k, d})
		}
	}
	for _, k := range ks.Counts {
		s.Counts = append(s.Counts, CountRow{k, m.t.Counter(k)})
	}
	return s, nil
}

// docsPage is how many rows Docs copies per hold of the mutex.
const docsPage = 256

// Docs implements [Store].
func (m *Memory) Docs(ctx context.Context, q DocQuery) iter.Seq2[DocRow, error] {
	return func(yield func(DocRow, error) bool) {
		left, page := q.Limit, q
		for {
			if err := ctx.Err(); err != nil {
				yield(DocRow{}, err)
				return
			}
			page.Limit = docsPage
			if q.Limit > 0 {
				page.Limit = min(docsPage, left)
			}
			rows, more := m.docs(page)
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
				page.After = r.Key
			}
			if left -= len(rows); !more || q.Limit > 0 && left == 0 {
				return
			}
		}
	}
}

// docs is one page; more says that the limit ended it.
func (m *Memory) docs(q DocQuery) (rows []DocRow, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.t.keys.from(max(q.Prefix, q.After)) {
		if !strings.HasPrefix(string(k), string(q.Prefix)) {
			return rows, false
		}
		d := m.t.docs[k]
		if k == q.After || q.Status != "" && d.Status != q.Status || q.OlderThan != 0 && d.Updated >= q.OlderThan {
			continue
		}
		rows = append(rows, DocRow{k, d.clone()})
		if len(rows) == q.Limit {
			return rows, true
		}
	}
	return rows, false
}

// Journal implements [Store].
func (m *Memory) Journal(ctx context.Context, q JournalQuery) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if q.After >= uint64(len(m.t.journal)) {
		return nil, nil
	}
	first := int(q.After)
	if q.Doc == "" {
		rest := m.t.journal[first:]
		if q.Limit > 0 && len(rest) > q.Limit {
			rest = rest[:q.Limit]
		}
		out := make([]Entry, len(rest))
		for i, r := range rest {
			out[i] = r.entry(first + i)
		}
		return out, nil
	}
	at := m.t.byDoc[q.Doc]
	at = at[sort.SearchInts(at, first):]
	if q.Limit > 0 && len(at) > q.Limit {
		at = at[:q.Limit]
	}
	out := make([]Entry, len(at))
	for i, n := range at {
		out[i] = m.t.journal[n].entry(n)
	}
	return out, nil
}

// keyIndex is a sorted list of document keys in blocks, so that an insertion
// moves one block and not the whole list. Documents are never deleted.
type keyIndex struct{ blocks [][]DocKey }

const blockSize = 512

func (x *keyIndex) insert(k DocKey) {
	if len(x.blocks) == 0 {
		x.blocks = [][]DocKey{{k}}
		return
	}
	// The last block that begins at or before k, or the first of all.
	b := max(0, sort.Search(len(x.blocks), func(i int) bool { return x.blocks[i][0] > k })-1)
	i, _ := slices.BinarySearch(x.blocks[b], k)
	x.blocks[b] = slices.Insert(x.blocks[b], i, k)
	if full := x.blocks[b]; len(full) == blockSize {
		right := slices.Clone(full[blockSize/2:])
		x.blocks[b] = full[:blockSize/2]
		x.blocks = slices.Insert(x.blocks, b+1, right)
	}
}

// from lists the keys ≥ k.
func (x *keyIndex) from(k DocKey) iter.Seq[DocKey] {
	return func(yield func(DocKey) bool) {
		b := max(0, sort.Search(len(x.blocks), func(i int) bool { return x.blocks[i][0] > k })-1)
		for ; b < len(x.blocks); b++ {
			i, _ := slices.BinarySearch(x.blocks[b], k)
			for _, key := range x.blocks[b][i:] {
				if !yield(key) {
					return
				}
			}
		}
	}
}
