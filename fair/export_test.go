package fair

// RootFromKey is for tests: vectors give R itself.
func RootFromKey(key [32]byte) *Root { return newRoot(key) }

// RootIs tells whether r has the key R.
func RootIs(r *Root, key [32]byte) bool { return *r.key.get() == *newRoot(key).key.get() }

// MaxLinear is the size up to which a table is scanned.
const MaxLinear = linear
