package legacy

import (
	"fmt"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// Scheme52 is the id of the case-battle scheme.
const Scheme52 = "legacy/52"

// The refusals of this package.
const (
	ErrUnknownScheme fair.Error = "unknown_scheme" // no verifier has this id
	ErrMax           fair.Error = "bad_max"        // max outside 1..2^53-1
	ErrRecord        fair.Error = "bad_record"     // not the JSON of the scheme's record
)

// Schemes returns the ids of all schemes, sorted.
func Schemes() []string { return []string{Scheme52} }

// Verify checks a JSON record of the named scheme. An id that is not one of
// [Schemes] is [ErrUnknownScheme], a record that does not decode strictly is
// [ErrRecord]; everything else is a finding of the report.
func Verify(scheme string, record []byte) (fair.Report, error) {
	switch scheme {
	case Scheme52:
		var r Record52
		if err := wire.Unmarshal(record, &r); err != nil {
			return fair.Report{}, fmt.Errorf("%w: %w", ErrRecord, err)
		}
		return r.Verify()
	}
	return fair.Report{}, fmt.Errorf("%w: %.40q", ErrUnknownScheme, scheme)
}
