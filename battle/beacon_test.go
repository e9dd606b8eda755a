package battle

import (
	"crypto/sha256"
	"fmt"

	"github.com/glasshouse-go/glasshouse/fair"
)

// beaconOf makes up what drand would sign for a round.
func beaconOf(round uint64) fair.Beacon {
	signature := fmt.Appendf(nil, "signature of round %d", round)
	return fair.Beacon{Round: round, Randomness: sha256.Sum256(signature), Signature: signature}
}
